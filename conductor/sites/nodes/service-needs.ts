import { etcdStepDefaults } from '#conductor/model/cluster-timeouts.ts';
import type { InstanceAnswer } from '#conductor/model/instance-answer.ts';
import { hasFakeDeploy } from '#conductor/nodes/node-interfaces.ts';
import type { Membership } from '#conductor/sites/nodes/membership-store.ts';
import type { Site, SiteNode, SiteSettings } from '#conductor/sites/site.ts';

/** What has to come about before a node's deploy counts. */
export interface ServiceNeeds {
  /** It is Ready in Kubernetes. */
  readonly kubernetes: boolean;
  /** It has a voting member in each of these that there is still. */
  readonly etcd: readonly string[];
  readonly answers: readonly InstanceAnswer[];
}

/**
 * A node joins Kubernetes when it was a member, or its documents say so; of etcd it is a member again where it was one:
 * it left clusters of the committed revision, whatever revision it is deployed from (`read-etcd-site.ts`), and the step that
 * waits knows which there are. A deploy that is only pretended joins nothing. Pure.
 */
export function serviceNeeds(
  node: Pick<SiteNode, 'inService'>,
  { settings }: Pick<Site, 'settings'>,
  known: {
    readonly row: Parameters<typeof hasFakeDeploy>[0];
    readonly membership: Membership | undefined;
    /** A conductor that runs the action has a kubeconfig, or had one when the action began. */
    readonly hasKubernetes: boolean;
  },
): ServiceNeeds {
  const { row, membership, hasKubernetes } = known;
  if (hasFakeDeploy(row)) return { kubernetes: false, etcd: [], answers: [] };
  const { kubernetes, answers = [] } = node.inService ?? {};
  const wasMember = (membership?.registrations.length ?? 0) > 0;
  return {
    kubernetes: hasKubernetes && (kubernetes ?? (wasMember || settings.nodesJoin)),
    etcd: membership?.etcdClusters ?? [],
    answers,
  };
}

/** Pure. */
export function needsService({ kubernetes, etcd, answers }: ServiceNeeds): boolean {
  return kubernetes || etcd.length > 0 || answers.length > 0;
}

/** Seconds that a node has to join, and its instance to answer. Pure. */
export function joinSeconds({ joinWait, nodeStatusTimeout }: SiteSettings): number {
  return joinWait + nodeStatusTimeout;
}

/** Seconds for all that a node of the site may have to wait for, one after another. Pure. */
export function serviceSeconds(settings: SiteSettings): number {
  return 2 * joinSeconds(settings) + etcdStepDefaults.readyTimeout;
}
