import {
  type ClusterMember,
  type ClusterView,
  type EtcdCluster,
  nameOf,
  quorumOf,
} from '#conductor/cluster/etcd/etcd-cluster.ts';
import { faultOf, mayPass } from '#conductor/cluster/etcd/etcd-fault.ts';
import type { EtcdWork } from '#conductor/cluster/etcd/etcd-work.ts';
import { lookAtCluster } from '#conductor/cluster/etcd/look-at-cluster.ts';
import { matchMembers } from '#conductor/cluster/etcd/match-members.ts';
import { type EtcdContext, withCluster } from '#conductor/cluster/etcd/open-cluster.ts';
import { joinRounds, type Round, type RoundMessage } from '#conductor/cluster/repeat-rounds.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

interface HealthMessage extends RoundMessage {
  readonly message: 'Healthy' | 'Unhealthy' | 'Unable to access Etcd';
  readonly kind: 'HealthMessage';
  /** The cluster. */
  readonly name: string;
  /** Ours: why it is not healthy. */
  readonly causes?: readonly string[];
}

/**
 * Returns how each cluster is, in the seed's words ("Check etcd"): one that answers and is not well is not an error, one
 * that can't be asked is.
 * @throws AppError `command_failed` with `details.reason` `EtcdNotAccessible` when something else than etcd answers for
 * one; `details.messages` has all clusters, that one as what can't be asked
 */
export async function readEtcdHealth(
  context: EtcdContext,
  clusters: readonly EtcdCluster[],
  signal?: AbortSignal,
): Promise<HealthMessage[]> {
  const strangers: AppError[] = [];
  const messages = await Promise.all(
    clusters.map(async (cluster): Promise<HealthMessage> => {
      const about = { kind: 'HealthMessage', name: cluster.name } as const;
      try {
        const view = await withCluster(context, cluster, signal, (client) => lookAtCluster(client, cluster));
        const causes = findTroubles(view, cluster.minimumMembers);
        if (causes.length === 0) return { message: 'Healthy', error: false, ...about };
        return { message: 'Unhealthy', error: false, ...about, causes };
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (faultOf(error) === 'invalid') strangers.push(error);
        return { message: 'Unable to access Etcd', error: true, ...about, causes: [errorChain(error)] };
      }
    }),
  );
  const [cause] = strangers;
  if (!cause) return messages;
  const details = { reason: 'EtcdNotAccessible', messages };
  throw new AppError('command_failed', 'ask etcd for its health', { cause, details });
}

/**
 * Explains why a cluster is not well; empty = it is: all members healthy, one leader that they agree on, no alarm, and as
 * many as the site wants at least. Pure.
 * @param without ids of members that are being torn down: how they are does not matter
 */
export function findTroubles(
  { members, leader, alarms }: ClusterView,
  minimum: number,
  without: ReadonlySet<string> = new Set(),
): string[] {
  const counted = members.filter(({ id }) => !without.has(id));
  const voters = members.filter(({ isLearner }) => !isLearner);
  const healthy = counted.filter(({ isLearner, state }) => !isLearner && state === 'healthy');
  const troubles = counted
    .filter(({ state }) => state !== 'healthy')
    .map((member) => `${nameOf(member)} is ${member.state}${member.why === undefined ? '' : `: ${member.why}`}`);
  // those being torn down don't help, but as long as they are members they count
  if (healthy.length < quorumOf(voters.length))
    troubles.push(`${healthy.length} of ${voters.length} voting members are not a quorum`);
  if (healthy.length < minimum) troubles.push(`${healthy.length} healthy members, and minimum_members is ${minimum}`);
  if (leader === undefined) troubles.push('its members do not agree on a leader');
  const named = (id: string): string => {
    const member = members.find((each) => each.id === id);
    return member ? nameOf(member) : 'a member that is gone';
  };
  troubles.push(
    ...alarms
      .filter(({ member }) => !without.has(member))
      .map(({ member, alarm }) => `alarm ${alarm} of ${named(member)}`),
  );
  return troubles;
}

/**
 * Looks at the clusters once; done when each of these clusters has a member on the node that is healthy and votes.
 * @param names of the clusters that it was a member of; one that the documents don't have any more is waited for by nobody
 * @throws AppError for files, certificates and credentials that don't fit: waiting would not mend those
 */
export function etcdMemberRound(context: EtcdContext, work: EtcdWork, names: readonly string[]): Promise<Round> {
  const wanted = work.site.etcdClusters.filter(({ name }) => names.includes(name));
  const about = ({ name }: EtcdCluster): string => `node ${work.node} to be a voting member of etcd cluster ${name}`;
  return lookAtEach(context, work, { clusters: wanted, about }, (_cluster, _view, own) => {
    const [first] = own;
    if (!first) return ['it has no member there yet'];
    if (own.some(({ isLearner, state }) => !isLearner && state === 'healthy')) return [];
    return [first.isLearner ? 'its member has no vote yet' : `its member is ${first.state}`];
  });
}

/**
 * Looks at the clusters once; done when all clusters of the site are well, whatever becomes of the members on the node.
 * @throws AppError for files, certificates and credentials that don't fit: waiting would not mend those
 */
export function etcdStableRound(context: EtcdContext, work: EtcdWork): Promise<Round> {
  const about = ({ name }: EtcdCluster): string => `etcd cluster ${name}`;
  return lookAtEach(context, work, { clusters: work.site.etcdClusters, about }, ({ minimumMembers }, view, own) =>
    findTroubles(view, minimumMembers, new Set(own.map(({ id }) => id))),
  );
}

/** @param findWrong what is waited for in one of the clusters; empty = it is as it should be */
async function lookAtEach(
  context: EtcdContext,
  { node, site, signal }: EtcdWork,
  { clusters, about }: { readonly clusters: readonly EtcdCluster[]; readonly about: (cluster: EtcdCluster) => string },
  findWrong: (cluster: EtcdCluster, view: ClusterView, own: readonly ClusterMember[]) => readonly string[],
): Promise<Round> {
  const nodes = new Set(site.nodes.keys());
  const rounds = clusters.map(async (cluster): Promise<Round> => {
    const named = { kind: 'HealthMessage', name: cluster.name };
    const wrong = await withCluster(context, cluster, signal, async (client) => {
      const view = await lookAtCluster(client, cluster);
      return findWrong(cluster, view, matchMembers(view.members, cluster, node, nodes).own);
    }).catch((error: unknown) => {
      if (mayPass(error)) return [errorChain(error)];
      throw error;
    });
    if (wrong.length === 0) return { state: 'done', messages: [{ message: 'Healthy', error: false, ...named }] };
    const reason = `${about(cluster)}: ${wrong.join('; ')}`;
    return { state: 'waiting', reason, messages: [{ message: reason, error: true, ...named }] };
  });
  return joinRounds(await Promise.all(rounds));
}
