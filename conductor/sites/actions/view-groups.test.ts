import { expect, test } from 'vitest';
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
  const waits = (maxParallelGroups: number | null, isPaused = false) => [
    ...waitingFor(groups, { maxParallelGroups, isPaused }),
  ];
  const compute = ['compute', ['control']];
  expect(waits(1)).toEqual([compute, ['storage', ['a free slot: 1 of 1 groups at work']]]);
  expect(waits(2)).toEqual([compute, ['storage', []]]);
  expect(waits(null)).toEqual([compute, ['storage', []]]);
  expect(waits(2, true)).toEqual([compute, ['storage', ['the end of the pause']]]);
});
