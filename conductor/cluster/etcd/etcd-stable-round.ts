import { mayPass } from '#conductor/cluster/etcd/etcd-fault.ts';
import { findTroubles } from '#conductor/cluster/etcd/find-troubles.ts';
import { lookAtCluster } from '#conductor/cluster/etcd/look-at-cluster.ts';
import { matchMembers } from '#conductor/cluster/etcd/match-members.ts';
import { type EtcdContext, withCluster } from '#conductor/cluster/etcd/open-cluster.ts';
import { type EtcdWork, joinRounds } from '#conductor/cluster/etcd/remove-etcd-round.ts';
import type { Round } from '#conductor/cluster/round.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/**
 * Done when all clusters of the site are well, whatever becomes of the members on the node.
 * @throws AppError for files, certificates and credentials that don't fit: waiting would not mend those
 */
export async function etcdStableRound(context: EtcdContext, { node, site, signal }: EtcdWork): Promise<Round> {
  const nodes = new Set(site.nodes.keys());
  const rounds = site.etcdClusters.map(async (cluster): Promise<Round> => {
    const about = { kind: 'HealthMessage', name: cluster.name };
    const troubles = await withCluster(context, cluster, signal, async (client) => {
      const view = await lookAtCluster(client, cluster);
      const { own } = matchMembers(view.members, cluster, node, nodes);
      return findTroubles(view, cluster.minimumMembers, new Set(own.map(({ id }) => id)));
    }).catch((error: unknown) => {
      if (mayPass(error)) return [errorChain(error)];
      throw error;
    });
    if (troubles.length === 0) return { state: 'done', messages: [{ message: 'Healthy', error: false, ...about }] };
    const reason = `etcd cluster ${cluster.name}: ${troubles.join('; ')}`;
    return { state: 'waiting', reason, messages: [{ message: reason, error: true, ...about }] };
  });
  return joinRounds(await Promise.all(rounds));
}
