import { z } from 'zod';
import { expectedMessage } from '#conductor/model/expected.ts';
import type { SiteDefaults } from '#conductor/model/site/action-parameters.ts';
import { decommissionTimeouts } from '#conductor/model/site/cluster-timeouts.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import type { PhaseTimeouts } from '#conductor/model/site/site-run.ts';
import { documentFault, readData, shownText, strictObject } from '#conductor/sites/documents/schema-faults.ts';
import { documentOf, type SiteDocument, type SiteSettings } from '#conductor/sites/site.ts';

/** `shipyard/DeploymentConfiguration/v1` (airship.md §1). */
export interface SiteConfiguration {
  readonly document: NonNullable<SiteFault['document']>;
  readonly strategy: string | undefined;
  readonly timeouts: PhaseTimeouts;
  readonly settings: SiteSettings;
}

export const defaultTimeouts: PhaseTimeouts = { prepare: 1800, deploy: 3600 };
export const defaultSettings: SiteSettings = {
  nodesJoin: false,
  joinWait: 120,
  nodeStatusTimeout: 1800,
  nodeStatusInterval: 30,
  actions: {},
};

/** Reads seconds as Shipyard does: 0 stands for the default where there must be some time. */
function seconds(standard: number, { mayBeNone = false } = {}) {
  const rule = `a whole number of seconds, 0 or more; leave it out for ${standard}`;
  const whole = z.int(expectedMessage(rule)).min(0, `must be ${rule}`);
  return whole.transform((value) => (value === 0 && !mayBeNone ? standard : value)).exactOptional();
}

const ConfigurationData = strictObject({
  physical_provisioner: strictObject({
    deployment_strategy: shownText.exactOptional(),
    verify_interval: seconds(10),
    verify_timeout: seconds(60),
    prepare_site_interval: seconds(10),
    prepare_site_timeout: seconds(300),
    prepare_node_interval: seconds(30),
    prepare_node_timeout: seconds(defaultTimeouts.prepare),
    deploy_interval: seconds(30),
    deploy_timeout: seconds(defaultTimeouts.deploy),
    destroy_interval: seconds(30),
    destroy_timeout: seconds(900),
    relabel_nodes_interval: seconds(30),
    relabel_nodes_timeout: seconds(900),
    join_wait: seconds(defaultSettings.joinWait, { mayBeNone: true }),
  }).exactOptional(),
  kubernetes: strictObject({
    node_status_interval: seconds(defaultSettings.nodeStatusInterval),
    node_status_timeout: seconds(defaultSettings.nodeStatusTimeout),
  }).exactOptional(),
  kubernetes_provisioner: strictObject({
    drain_timeout: seconds(decommissionTimeouts.drainTimeout),
    drain_grace_period: seconds(decommissionTimeouts.drainGracePeriod, { mayBeNone: true }),
    clear_labels_timeout: seconds(decommissionTimeouts.clearLabelsTimeout),
    remove_etcd_timeout: seconds(decommissionTimeouts.removeEtcdTimeout),
    etcd_ready_timeout: seconds(decommissionTimeouts.etcdReadyTimeout),
  }).exactOptional(),
  armada: strictObject({
    get_releases_timeout: seconds(300),
    get_status_timeout: seconds(300),
    manifest: shownText.exactOptional(),
    update_manifest: shownText.exactOptional(),
    post_apply_timeout: seconds(2700),
    validate_design_timeout: seconds(600),
  }).exactOptional(),
});

const NamesStrategy = z.object({ physical_provisioner: z.object({ deployment_strategy: shownText }) });

/** Keys that Baton goes by: those of the teardown's limits, each with the parameter of an action that it stands for. */
const teardownKeys = {
  drain_timeout: 'drain-node-timeout',
  drain_grace_period: 'drain-node-grace-period',
  clear_labels_timeout: 'clear-labels-timeout',
  remove_etcd_timeout: 'remove-etcd-timeout',
  etcd_ready_timeout: 'etcd-ready-timeout',
} as const;
const honoured = new Set([
  'deployment_strategy',
  'prepare_node_timeout',
  'deploy_timeout',
  'join_wait',
  'node_status_interval',
  'node_status_timeout',
  ...Object.keys(teardownKeys),
]);

/** Renames the teardown's limits as parameters of actions. */
function actionDefaults(
  teardown: Readonly<Partial<Record<keyof typeof teardownKeys, number | undefined>>>,
): SiteDefaults {
  const given = new Map(Object.entries(teardown));
  return Object.fromEntries(
    Object.entries(teardownKeys).flatMap(([key, parameter]) => {
      const value = given.get(key);
      return value === undefined ? [] : [[parameter, value]];
    }),
  );
}

/** With faults, as much of it as is known: whether the strategy exists does not depend on a time. */
export function readConfiguration(document: SiteDocument, faults: SiteFault[]): SiteConfiguration {
  const data = readData(document, ConfigurationData, faults);
  if (!data) {
    const strategy = NamesStrategy.safeParse(document.data).data?.physical_provisioner.deployment_strategy;
    return { document: documentOf(document), strategy, timeouts: defaultTimeouts, settings: defaultSettings };
  }
  const unused = Object.entries(data).flatMap(([section, keys]) =>
    Object.keys(keys).flatMap((key) => (honoured.has(key) ? [] : [`${section}.${key}`])),
  );
  if (unused.length > 0) {
    faults.push(documentFault(document, `Baton does not use ${unused.join(', ')}`, 'NotUsed', 'Info'));
  }
  const { physical_provisioner: provisioner = {}, kubernetes, kubernetes_provisioner: teardown = {} } = data;
  const { prepare_node_timeout, deploy_timeout, join_wait } = provisioner;
  const times = Object.entries({ prepare_node_timeout, deploy_timeout, join_wait, ...kubernetes });
  return {
    document: documentOf(document),
    strategy: provisioner.deployment_strategy,
    timeouts: {
      prepare: provisioner.prepare_node_timeout ?? defaultTimeouts.prepare,
      deploy: provisioner.deploy_timeout ?? defaultTimeouts.deploy,
    },
    settings: {
      nodesJoin: kubernetes !== undefined,
      joinWait: provisioner.join_wait ?? defaultSettings.joinWait,
      nodeStatusTimeout: kubernetes?.node_status_timeout ?? defaultSettings.nodeStatusTimeout,
      nodeStatusInterval: kubernetes?.node_status_interval ?? defaultSettings.nodeStatusInterval,
      actions: actionDefaults(teardown),
      stated: Object.fromEntries(times.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
    },
  };
}
