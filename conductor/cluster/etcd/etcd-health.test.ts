import { expect, test } from 'vitest';
import type { ClusterMember, ClusterView } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { findTroubles } from '#conductor/cluster/etcd/etcd-health.ts';

const member = (id: string, more: Partial<ClusterMember> = {}): ClusterMember => ({
  id,
  name: `m${id}`,
  peerUrls: [`https://10.0.0.${id}:2380`],
  isLearner: false,
  state: 'healthy',
  raftIndex: 1n,
  ...more,
});
const view = (members: readonly ClusterMember[], more: Partial<ClusterView> = {}): ClusterView => ({
  members,
  leader: '1',
  alarms: [],
  ...more,
});
const dead = { state: 'unreachable', why: 'https://10.0.0.3:2379 did not answer in time' } as const;

test('a cluster that is well has none, whatever becomes of the node that is torn down', () => {
  const three = [member('1'), member('2'), member('3', dead)];
  expect(findTroubles(view([member('1'), member('2'), member('3')]), 3)).toEqual([]);
  expect(findTroubles(view(three, { alarms: [{ member: '3', alarm: 'CORRUPT' }] }), 2, new Set(['3']))).toEqual([]);
});

test('each with its words', () => {
  expect([
    ...findTroubles(view([member('1'), member('2'), member('3', dead)]), 3),
    ...findTroubles(view([member('1'), member('2')]), 1, new Set(['2'])),
    ...findTroubles({ members: [member('1'), member('2', { state: 'unstarted', name: '' })], alarms: [] }, 1),
    ...findTroubles(
      view([member('1')], {
        alarms: [
          { member: '1', alarm: 'NOSPACE' },
          { member: '7', alarm: 'CORRUPT' },
        ],
      }),
      1,
    ),
  ]).toMatchInlineSnapshot(`
    [
      "m3 is unreachable: https://10.0.0.3:2379 did not answer in time",
      "2 healthy members, and minimum_members is 3",
      "1 of 2 voting members are not a quorum",
      "2 at https://10.0.0.2:2380 is unstarted",
      "1 of 2 voting members are not a quorum",
      "its members do not agree on a leader",
      "alarm NOSPACE of m1",
      "alarm CORRUPT of a member that is gone",
    ]
  `);
});
