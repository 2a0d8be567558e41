import { expect, test } from 'vitest';
import { faultText, goodNode, readText, yamlOf } from '#conductor/sites/documents/testing/read-text.ts';

const configuration = (data: string, name = 'deployment-configuration') =>
  yamlOf('shipyard/DeploymentConfiguration/v1', name, data);
const strategy = (name: string) =>
  yamlOf('shipyard/DeploymentStrategy/v1', name, 'groups: [{name: g, critical: false, depends_on: [], selectors: []}]');
const read = (text: string) => {
  const { site, faults } = readText(goodNode() + text);
  return { site, faultTexts: faults.map(faultText) };
};

test('without it: Shipyard’s timeouts, and the strategy called deployment-strategy', () => {
  expect(read(strategy('deployment-strategy'))).toMatchObject({
    site: { timeouts: { prepare: 1800, deploy: 3600 }, strategy: { name: 'deployment-strategy' } },
    faultTexts: [],
  });
});

test('without strategy: one critical group of all nodes, all of which must succeed', () => {
  expect(read('').site?.strategy).toEqual({
    name: 'default',
    groups: [
      {
        name: 'default',
        critical: true,
        depends_on: [],
        selectors: [],
        success_criteria: { percent_successful_nodes: 100 },
      },
    ],
    max_parallel_groups: 1,
  });
});

test('it names the strategy and the timeouts', () => {
  const { site, faultTexts } = read(
    configuration('physical_provisioner: {deployment_strategy: b, prepare_node_timeout: 60, deploy_timeout: 90}') +
      strategy('a') +
      strategy('b'),
  );
  expect(site).toMatchObject({ timeouts: { prepare: 60, deploy: 90 }, strategy: { name: 'b' } });
  expect(faultTexts).toMatchInlineSnapshot(`
    [
      "Info NotUsed DeploymentStrategy a: the site is deployed by strategy b, not by this one",
    ]
  `);
});

test('all keys that Shipyard documents are taken, and which of them are not used is said', () => {
  const { site, faultTexts } = read(
    configuration(`
physical_provisioner:
  {verify_interval: 1, verify_timeout: 1, prepare_site_interval: 1, prepare_site_timeout: 1, prepare_node_interval: 1,
  prepare_node_timeout: 1, deploy_interval: 1, deploy_timeout: 1, destroy_interval: 1, destroy_timeout: 1,
  relabel_nodes_interval: 1, relabel_nodes_timeout: 1, join_wait: 1}
kubernetes: {node_status_interval: 1, node_status_timeout: 1}
kubernetes_provisioner:
  {drain_timeout: 1, drain_grace_period: 1, clear_labels_timeout: 1, remove_etcd_timeout: 1, etcd_ready_timeout: 1}
armada:
  {manifest: full-site, update_manifest: full-site, get_releases_timeout: 1, get_status_timeout: 1,
  post_apply_timeout: 1, validate_design_timeout: 1}
`),
  );
  expect(site?.timeouts).toEqual({ prepare: 1, deploy: 1 });
  expect(faultTexts).toMatchInlineSnapshot(`
    [
      "Info NotUsed DeploymentConfiguration deployment-configuration: Baton does not use physical_provisioner.verify_interval, physical_provisioner.verify_timeout, physical_provisioner.prepare_site_interval, physical_provisioner.prepare_site_timeout, physical_provisioner.prepare_node_interval, physical_provisioner.deploy_interval, physical_provisioner.destroy_interval, physical_provisioner.destroy_timeout, physical_provisioner.relabel_nodes_interval, physical_provisioner.relabel_nodes_timeout, armada.get_releases_timeout, armada.get_status_timeout, armada.manifest, armada.update_manifest, armada.post_apply_timeout, armada.validate_design_timeout",
    ]
  `);
});

test('0 counts where nothing need be waited for, and is the default elsewhere, as in Shipyard', () => {
  const { site, faultTexts } = read(
    configuration(`
physical_provisioner: {prepare_node_timeout: 0, deploy_timeout: 0, join_wait: 0, destroy_interval: 0}
kubernetes: {node_status_interval: 0, node_status_timeout: 0}
kubernetes_provisioner: {drain_timeout: 0, drain_grace_period: 0, etcd_ready_timeout: 0}
`),
  );
  expect(faultTexts).toEqual([expect.stringContaining('does not use physical_provisioner.destroy_interval')]);
  expect(site).toMatchObject({
    timeouts: { prepare: 1800, deploy: 3600 },
    settings: {
      joinWait: 0,
      nodeStatusInterval: 30,
      nodeStatusTimeout: 1800,
      actions: { 'drain-node-timeout': 3600, 'drain-node-grace-period': 0, 'etcd-ready-timeout': 600 },
    },
  });
});

test('each fault with its message', () => {
  const texts = [
    'physical_provisioner: {deploy_timeout: -1, prepare_node_timeout: 1h, deploy_strategy: x}\nfoo: {}',
    'physical_provisioner: {deployment_strategy: deployment-strategi}',
    'physical_provisioner: {deployment_strategy: 3}',
    'physical_provisioner: {deployment_strategy: none-such, deploy_timeout: 1h}',
    'physical_provisioner: []',
  ];
  expect(
    texts.flatMap((text) => read(strategy('deployment-strategy') + configuration(text)).faultTexts),
  ).toMatchInlineSnapshot(`
    [
      "Error InvalidValue DeploymentConfiguration deployment-configuration data.physical_provisioner.prepare_node_timeout: prepare_node_timeout must be a whole number of seconds, 0 or more; leave it out for 1800 (given: "1h")",
      "Error InvalidValue DeploymentConfiguration deployment-configuration data.physical_provisioner.deploy_timeout: deploy_timeout must be a whole number of seconds, 0 or more; leave it out for 3600 (given: -1)",
      "Error UnknownField DeploymentConfiguration deployment-configuration data.physical_provisioner.deploy_strategy: deploy_strategy is not known here; there are deployment_strategy, verify_interval, verify_timeout, prepare_site_interval, prepare_site_timeout, prepare_node_interval, prepare_node_timeout, deploy_interval, deploy_timeout, destroy_interval, destroy_timeout, relabel_nodes_interval, relabel_nodes_timeout, join_wait",
      "Error UnknownField DeploymentConfiguration deployment-configuration data.foo: foo is not known here; there are physical_provisioner, kubernetes, kubernetes_provisioner, armada",
      "Error UnknownStrategy DeploymentConfiguration deployment-configuration data.physical_provisioner.deployment_strategy: physical_provisioner.deployment_strategy names deployment-strategi, which is not a shipyard/DeploymentStrategy/v1; did you mean deployment-strategy?; there is deployment-strategy",
      "Error InvalidValue DeploymentConfiguration deployment-configuration data.physical_provisioner.deployment_strategy: deployment_strategy must be text: put it into quotes (given: 3)",
      "Error InvalidValue DeploymentConfiguration deployment-configuration data.physical_provisioner.deploy_timeout: deploy_timeout must be a whole number of seconds, 0 or more; leave it out for 3600 (given: "1h")",
      "Error UnknownStrategy DeploymentConfiguration deployment-configuration data.physical_provisioner.deployment_strategy: physical_provisioner.deployment_strategy names none-such, which is not a shipyard/DeploymentStrategy/v1; there is deployment-strategy",
      "Error InvalidValue DeploymentConfiguration deployment-configuration data.physical_provisioner: physical_provisioner must be a mapping",
    ]
  `);
});

test('of several, the usual name holds; without it nobody can tell', () => {
  const several = configuration('physical_provisioner: {deploy_timeout: 5}', 'a') + configuration('{}', 'b');
  expect(read(several).faultTexts).toMatchInlineSnapshot(`
    [
      "Error AmbiguousConfiguration DeploymentConfiguration b: there are several documents shipyard/DeploymentConfiguration/v1 (a, b); the one that is to hold must be called deployment-configuration",
    ]
  `);
  expect(read(several + configuration('physical_provisioner: {deploy_timeout: 7}')).site?.timeouts.deploy).toBe(7);
});

test('a strategy that nobody names is told', () => {
  expect(read(strategy('mine')).faultTexts).toMatchInlineSnapshot(`
    [
      "Warning NotUsed DeploymentStrategy mine: the strategy is not called deployment-strategy, and no DeploymentConfiguration names it: without it all nodes are one critical group",
    ]
  `);
});
