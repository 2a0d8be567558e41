import { mayPass } from '#conductor/cluster/etcd/etcd-fault.ts';
import { lookAtCluster } from '#conductor/cluster/etcd/look-at-cluster.ts';
import { matchMembers } from '#conductor/cluster/etcd/match-members.ts';
import { type EtcdContext, withCluster } from '#conductor/cluster/etcd/open-cluster.ts';
import { type EtcdWork, joinRounds } from '#conductor/cluster/etcd/remove-etcd-round.ts';
import type { Round } from '#conductor/cluster/round.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/**
 * Done when each of these clusters has a member on the node that is healthy and votes.
 * @param names of the clusters that it was a member of; one that the documents don't have any more is waited for by nobody
 * @throws AppError for files, certificates and credentials that don't fit: waiting would not mend those
 */
export async function etcdMemberRound(
  context: EtcdContext,
  { node, site, signal }: EtcdWork,
  names: readonly string[],
): Promise<Round> {
  const nodes = new Set(site.nodes.keys());
  const wanted = site.etcdClusters.filter(({ name }) => names.includes(name));
  const rounds = wanted.map(async (cluster): Promise<Round> => {
    const about = { kind: 'HealthMessage', name: cluster.name };
    const why = await withCluster(context, cluster, signal, async (client) => {
      const view = await lookAtCluster(client, cluster);
      const { own } = matchMembers(view.members, cluster, node, nodes);
      const [first] = own;
      if (!first) return 'it has no member there yet';
      if (own.some(({ isLearner, state }) => !isLearner && state === 'healthy')) return undefined;
      return first.isLearner ? 'its member has no vote yet' : `its member is ${first.state}`;
    }).catch((error: unknown) => {
      if (mayPass(error)) return errorChain(error);
      throw error;
    });
    if (why === undefined) return { state: 'done', messages: [{ message: 'Healthy', error: false, ...about }] };
    const reason = `node ${node} to be a voting member of etcd cluster ${cluster.name}: ${why}`;
    return { state: 'waiting', reason, messages: [{ message: reason, error: true, ...about }] };
  });
  return joinRounds(await Promise.all(rounds));
}
