import { type ClusterView, nameOf, quorumOf } from '#conductor/cluster/etcd/cluster-view.ts';

/**
 * Why a cluster is not well; empty = it is: all members healthy, one leader that they agree on, no alarm, and as many
 * as the site wants at least. Pure.
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
    troubles.push(`${healthy.length} of ${voters.length} voting members are no quorum`);
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
