import { expect } from 'vitest';
import type { EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { etcdStableRound } from '#conductor/cluster/etcd/etcd-health.ts';
import type { EtcdContext } from '#conductor/cluster/etcd/open-cluster.ts';
import { removeEtcdRound } from '#conductor/cluster/etcd/remove-etcd-round.ts';
import type { Round } from '#conductor/cluster/repeat-rounds.ts';
import { withCredentials } from '#conductor/sites/credentials.ts';
import type { Site, SiteNode } from '#conductor/sites/site.ts';
import { systemClock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { type EtcdTestCluster, startEtcd } from '#test/support/etcd.ts';
import type { TestApi } from '#test/support/test-api.ts';

/** Each look at a member that answers nobody takes so long; others answer within them on a busy machine too. */
const limits = { connectMs: 2000, askMs: 4000, actMs: 15_000 };

/** Rounds on test clusters, with the credentials of this API. */
export interface EtcdRounds {
  contextOf(tlsDirectory: string): EtcdContext;
  removeFrom(cluster: EtcdTestCluster, node: string, more?: Partial<EtcdCluster>): Promise<Round>;
  stable(cluster: EtcdTestCluster, node: string, more?: Partial<EtcdCluster>): Promise<Round>;
}

export function createEtcdRounds({ context }: TestApi): EtcdRounds {
  const contextOf: EtcdRounds['contextOf'] = (etcdTlsDirectory) => {
    const { log, database } = context;
    const { openCredential } = withCredentials(context);
    return { openCredential, log, database, clock: systemClock, config: { etcdTlsDirectory }, etcdLimits: limits };
  };
  return {
    contextOf,
    removeFrom: (cluster, node, more = {}) =>
      removeEtcdRound(contextOf(cluster.tlsDirectory), { node, site: siteOf(cluster.describe(more)) }),
    stable: (cluster, node, more = {}) =>
      etcdStableRound(contextOf(cluster.tlsDirectory), { node, site: siteOf(cluster.describe(more)) }),
  };
}

/** Nodes n1 to n6, and these clusters. */
export function siteOf(...clusters: EtcdCluster[]): Pick<Site, 'nodes' | 'etcdClusters'> {
  const names = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6'];
  return { nodes: new Map(names.map((name) => [name, { name } as SiteNode])), etcdClusters: clusters };
}

/** A cluster of these members, as long as the work takes. @param strict etcd guards its quorum itself */
export async function inCluster(
  names: readonly string[],
  work: (cluster: EtcdTestCluster) => Promise<void>,
  strict = false,
) {
  const cluster = await startEtcd(names, { strictReconfigCheck: strict });
  try {
    await work(cluster);
  } finally {
    await cluster.close();
  }
}

/** A round's state and words, in one line. */
export function reported(round: Round): string {
  return `${round.state}: ${round.messages.map(({ message }) => message).join(' | ')}`;
}

/** Gives what was thrown, in one line. */
export async function refusal(round: Promise<Round>): Promise<string> {
  return round.then(reported, errorChain);
}

/** Expects what etcdctl lists in the end: the member it asks may not have heard yet. */
export async function expectListed(cluster: EtcdTestCluster, names: readonly string[]): Promise<void> {
  await expect.poll(() => listed(cluster)).toEqual(names);
}

/** Names that etcdctl lists, in order. */
export async function listed(cluster: EtcdTestCluster): Promise<string[]> {
  const { members } = JSON.parse(await cluster.etcdctl('member', 'list', '-w', 'json')) as {
    members: { name?: string }[];
  };
  return members.map(({ name = '' }) => name).toSorted();
}
