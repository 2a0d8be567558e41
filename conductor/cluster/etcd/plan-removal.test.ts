import { expect, test } from 'vitest';
import type { ClusterMember, MemberState } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { planRemoval } from '#conductor/cluster/etcd/plan-removal.ts';
import * as fc from '#test/fuzz/fast-check.ts';

/** `n1`, `n2!` unhealthy, `n3?` unreachable, `n4+` learner, `-` unstarted; ids are 1, 2, 3 … */
function membersOf(text: string): ClusterMember[] {
  return text.split(' ').map((word, index) => {
    const state: MemberState =
      word === '-' ? 'unstarted' : word.includes('!') ? 'unhealthy' : word.includes('?') ? 'unreachable' : 'healthy';
    return {
      id: String(index + 1),
      name: word.replace(/[-!?+]/g, ''),
      peerUrls: [`https://10.0.0.${index + 1}:2380`],
      isLearner: word.includes('+'),
      state,
      raftIndex: BigInt(100 + index),
    };
  });
}

/** The plan in short. */
function planned(text: string, own: string, minimum = 1, leader: string | undefined = '1'): string {
  const view = { members: membersOf(text), ...(leader === undefined ? {} : { leader }) };
  const plan = planRemoval(view, new Set(own.split(',')), minimum);
  if (plan.act === 'remove') return `remove ${plan.member.id}`;
  if (plan.act === 'move leader') return `move leader from ${plan.from.id} to ${plan.to.id}`;
  if (plan.act === 'refuse') return `${plan.mayPass ? 'not now' : 'never'}: ${plan.reason}`;
  return plan.act;
}

test.each<[members: string, own: string, minimum: number, plan: string]>([
  ['a b c', '9', 1, 'nothing'],
  ['a! b! c', '9', 1, 'nothing'],
  // the list is of a member that may have been cut off since before the node's joined
  [
    'a! b? c?',
    '9',
    1,
    "not now: no member has the word of a quorum, so that it is not known whether one of the node's is in it (a is unhealthy, b is unreachable, c is unreachable)",
  ],
  [
    'a+',
    '9',
    1,
    "not now: no member has the word of a quorum, so that it is not known whether one of the node's is in it",
  ],
  ['a b c', '2', 2, 'remove 2'],
  ['a b c', '1', 2, 'move leader from 1 to 3'],
  ['a b c d e', '3', 4, 'remove 3'],
  ['a b! c', '2', 2, 'remove 2'],
  ['a b c+', '3', 2, 'remove 3'],
  ['a b c -', '4', 3, 'remove 4'],
  // what does no good goes first, the leader last
  ['a b! c d e', '1,2', 3, 'remove 2'],
  // a leader that nobody reaches here, but the others follow
  ['a? b c', '1', 1, 'remove 1'],
  ['a', '1', 1, 'never: removing member a would leave the cluster without members'],
  ['a b+', '1', 1, 'never: removing member a would leave the cluster without members'],
  ['a b c', '2', 3, 'never: 2 voting members would be left, and minimum_members is 3'],
  [
    'a b c! d!',
    '2',
    1,
    'not now: it has no quorum now: 2 of 4 voting members healthy (c is unhealthy, d is unhealthy)',
  ],
  [
    'a b c?',
    '2',
    1,
    'not now: 1 healthy of 2 voting members would be left, and its quorum would be 2 (c is unreachable)',
  ],
  [
    'a b -',
    '2',
    1,
    'not now: 1 healthy of 2 voting members would be left, and its quorum would be 2 (3 at https://10.0.0.3:2380 is unstarted)',
  ],
  [
    'a b c! d e',
    '2',
    4,
    'not now: 3 healthy of 4 voting members would be left, and minimum_members is 4 (c is unhealthy)',
  ],
])('%s without %s at minimum %i: %s', (members, own, minimum, plan) => {
  expect(planned(members, own, minimum)).toBe(plan);
});

test('without a leader nothing is taken out', () => {
  const plan = planRemoval({ members: membersOf('a b c') }, new Set(['2']), 1);
  expect(plan).toEqual({ act: 'refuse', reason: 'its members do not agree on a leader', mayPass: true });
});

const states: readonly MemberState[] = ['healthy', 'healthy', 'healthy', 'unhealthy', 'unreachable', 'unstarted'];
const anyCluster = fc
  .array(fc.record({ state: fc.constantFrom(...states), isLearner: fc.boolean(), isOwn: fc.boolean() }), {
    minLength: 1,
    maxLength: 9,
  })
  .map((drawn) => ({
    members: drawn.map(({ state, isLearner }, index): ClusterMember => {
      const id = String(index + 1);
      return { id, name: `m${id}`, peerUrls: [], isLearner, state, raftIndex: 1n };
    }),
    own: new Set(drawn.flatMap(({ isOwn }, index) => (isOwn ? [String(index + 1)] : []))),
  }));

/** Counted naively, from the seed's words. */
function isSafe(members: readonly ClusterMember[]): boolean {
  const voters = members.filter((member) => !member.isLearner);
  return voters.filter(({ state }) => state === 'healthy').length > voters.length / 2;
}
const healthyVoters = (members: readonly ClusterMember[]): number =>
  members.filter(({ state, isLearner }) => state === 'healthy' && !isLearner).length;

interface Walk {
  readonly wrong: readonly string[];
  readonly end: 'removed' | 'refused' | 'nothing';
}

/** Follows the plans to their end and counts what they leave. */
function walk(members: readonly ClusterMember[], own: ReadonlySet<string>, minimum: number, pick: number): Walk {
  const wrong: string[] = [];
  const check = (holds: boolean, fault: string): unknown => holds || wrong.push(fault);
  const led = members.filter(({ state, isLearner }) => state === 'healthy' && !isLearner);
  let leader = led[pick % Math.max(led.length, 1)]?.id;
  let left = members;
  const goal = members.filter(({ id }) => !own.has(id));
  const mayBeDone = isSafe(members) && isSafe(goal) && healthyVoters(goal) >= minimum;
  for (let step = 0; step <= members.length + 1; step += 1) {
    const plan = planRemoval({ members: left, ...(leader === undefined ? {} : { leader }) }, own, minimum);
    if (plan.act === 'nothing') break;
    check(mayBeDone === (plan.act !== 'refuse'), `${plan.act}, and it ${mayBeDone ? 'is' : 'is not'} safe`);
    if (plan.act === 'refuse') {
      check(step === 0, 'what was begun was not ended');
      return { wrong, end: 'refused' };
    }
    if (plan.act === 'move leader') {
      check(plan.from.id === leader, 'moved from one that does not lead');
      check(
        plan.to.state === 'healthy' && !own.has(plan.to.id) && !plan.to.isLearner,
        'moved to one that can not lead',
      );
      leader = plan.to.id;
      continue;
    }
    check(plan.member.id !== leader && own.has(plan.member.id), `removed ${plan.member.id}`);
    left = left.filter(({ id }) => id !== plan.member.id);
    check(isSafe(left) && healthyVoters(left) >= minimum, `unsafe without ${plan.member.id}`);
  }
  check(left.length === goal.length, 'something is left');
  return { wrong, end: left.length < members.length ? 'removed' : 'nothing' };
}

test('whatever the cluster: no step leaves less than a quorum or than the minimum, and none that is safe is refused', () => {
  const ends: Record<string, number> = {};
  fc.assert(
    fc.property(anyCluster, fc.integer({ min: 1, max: 5 }), fc.nat(8), ({ members, own }, minimum, pick) => {
      const { wrong, end } = walk(members, own, minimum, pick);
      ends[end] = (ends[end] ?? 0) + 1;
      expect(wrong).toEqual([]);
    }),
    { numRuns: 3000 },
  );
  expect(Math.min(ends['removed'] ?? 0, ends['refused'] ?? 0)).toBeGreaterThan(100);
});
