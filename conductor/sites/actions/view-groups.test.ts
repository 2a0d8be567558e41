import { expect, test } from 'vitest';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import type { GroupStage } from '#conductor/model/site/site-run.ts';
import { waitingFor } from '#conductor/sites/actions/view-groups.ts';

const group = (name: string, stage: GroupStage, ...dependencies: string[]) => ({
  name,
  stage,
  definition: { depends_on: dependencies },
});
const groups = [
  group('ntp', 'success'),
  group('control', 'deploying', 'ntp'),
  group('compute', 'not_started', 'ntp', 'control'),
  group('storage', 'not_started', 'ntp'),
];

test('groups wait for others by name, for a slot, for the end of a pause, or only for the next beat', () => {
  const waits = (maxParallelGroups: number | null, held: string | null = null) => [
    ...waitingFor(groups, { maxParallelGroups, held }),
  ];
  const compute = ['compute', ['control']];
  expect(waits(1)).toEqual([compute, ['storage', ['a free slot: 1 of 1 groups at work']]]);
  expect(waits(2)).toEqual([compute, ['storage', []]]);
  expect(waits(null)).toEqual([compute, ['storage', []]]);
  expect(waits(2, 'paused')).toEqual([compute, ['storage', ['the end of the pause']]]);
});

test('a group under way says why it begins no further node, and a pause by itself why there is one', () => {
  const waits = newRemark('rollout-out', { where: 'rack r7', out: 2, most: 2 });
  const rolled = { ...group('compute', 'preparing'), rollout: { domains: {}, excused: [], waits } };
  const texts = (held: string | null) => waitingFor([rolled], { maxParallelGroups: 1, held }).get('compute');
  expect(texts(null)).toEqual(['rack r7, which has 2 of at most 2 nodes out']);
  const held = 'paused by itself: group compute: canary n1 failed';
  expect(texts(held)).toEqual([`the end of the pause (${held})`]);
});
