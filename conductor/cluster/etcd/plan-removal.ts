import { type ClusterMember, type ClusterView, nameOf, quorumOf } from '#conductor/cluster/etcd/etcd-cluster.ts';

/** The next thing to do, so that a node's members leave their cluster. */
export type RemovalPlan =
  | { readonly act: 'nothing' }
  | { readonly act: 'remove'; readonly member: ClusterMember }
  | { readonly act: 'move leader'; readonly from: ClusterMember; readonly to: ClusterMember }
  | {
      readonly act: 'refuse';
      readonly reason: string;
      /** It may become possible when members come back; else the cluster is too small. */
      readonly mayPass: boolean;
    };

/**
 * Plans the next step, or why there is none. Only members seen healthy count for a quorum, and what is left once *all* of
 * the node's members are gone must have one, or the first is not taken out either. Pure.
 * @param own ids of the node's members
 * @param minimum healthy voters that must be left
 */
export function planRemoval(
  { members, leader }: Pick<ClusterView, 'members' | 'leader'>,
  own: ReadonlySet<string>,
  minimum: number,
): RemovalPlan {
  const leaving = members.filter(({ id }) => own.has(id));
  const voters = members.filter(({ isLearner }) => !isLearner);
  const healthy = voters.filter(isHealthy);
  const refuse = (reason: string, mayPass: boolean): RemovalPlan => ({ act: 'refuse', reason, mayPass });
  if (leaving.length === 0) {
    if (healthy.length > 0) return { act: 'nothing' };
    // a member that is cut off has an old list
    const silent = describeAbsent(members.filter((member) => !isHealthy(member)));
    const reason = `no member has the word of a quorum, so that it is not known whether one of the node's is in it${silent}`;
    return refuse(reason, true);
  }
  const staying = voters.filter(({ id }) => !own.has(id));
  const left = staying.filter(isHealthy);
  const absent = describeAbsent(voters.filter((voter) => !isHealthy(voter)));

  if (staying.length === 0)
    return refuse(`removing ${describeMembers(leaving)} would leave the cluster without members`, false);
  const needed = Math.max(minimum, quorumOf(staying.length));
  if (staying.length < minimum)
    return refuse(`${count(staying.length)} would be left, and minimum_members is ${minimum}`, false);
  if (healthy.length < quorumOf(voters.length))
    return refuse(`it has no quorum now: ${healthy.length} of ${count(voters.length)} healthy${absent}`, true);
  if (left.length < needed) {
    const rule = needed > quorumOf(staying.length) ? `minimum_members is ${minimum}` : `its quorum would be ${needed}`;
    return refuse(`${left.length} healthy of ${count(staying.length)} would be left, and ${rule}${absent}`, true);
  }
  if (leader === undefined) return refuse('its members do not agree on a leader', true);

  const [next] = leaving.toSorted((a, b) => turnOf(a, leader) - turnOf(b, leader));
  const [successor] = left.toSorted((a, b) => compareProgress(b, a));
  if (!next || !successor) return { act: 'nothing' };
  // one that answers hands over within a beat; without it the others notice only after the election timeout
  if (next.id === leader && isHealthy(next)) return { act: 'move leader', from: next, to: successor };
  return { act: 'remove', member: next };
}

function isHealthy({ state }: Pick<ClusterMember, 'state'>): boolean {
  return state === 'healthy';
}

/**
 * Orders removals: a member that does no good goes first, because without it fewer make a quorum. The leader goes last.
 */
function turnOf(member: ClusterMember, leader: string): number {
  if (member.id === leader) return 3;
  if (member.isLearner) return 2;
  return isHealthy(member) ? 1 : 0;
}

/** The member with most of the log takes over soonest. */
function compareProgress(a: ClusterMember, b: ClusterMember): number {
  if (a.raftIndex !== b.raftIndex) return a.raftIndex < b.raftIndex ? -1 : 1;
  return a.id < b.id ? 1 : -1;
}

function describeAbsent(members: readonly ClusterMember[]): string {
  if (members.length === 0) return '';
  return ` (${members.map((member) => `${nameOf(member)} is ${member.state}`).join(', ')})`;
}

function describeMembers(members: readonly ClusterMember[]): string {
  return `${members.length === 1 ? 'member' : 'members'} ${members.map(nameOf).join(' and ')}`;
}

function count(voters: number): string {
  return `${voters} voting ${voters === 1 ? 'member' : 'members'}`;
}
