import { expect, test } from 'vitest';
import { historyOf, type RecordedFlow } from '#conductor/sites/rehearsal/history/steps-of-kind.ts';

const flow = (
  model: string | undefined,
  steps: Readonly<Record<string, number>>,
  more: { readonly fails?: string } = {},
): RecordedFlow => ({
  kind: 'deploy',
  node: 'n',
  model,
  succeeded: more.fails === undefined,
  steps: Object.entries(steps).map(([title, seconds]) => ({ title, seconds, succeeded: title !== more.fails })),
});

test('steps are those of the model’s last success, with the runs of the model, or else of all', () => {
  const find = historyOf([
    flow('A', { write: 7 }, { fails: 'write' }),
    flow('B', { write: 100, boot: 10 }),
    flow('A', { write: 5, boot: 1 }),
    flow('A', { write: 6, boot: 2, extra: 1 }),
  ]);
  expect(find('deploy', 'A')).toEqual({
    basis: 'model',
    flows: 3,
    steps: [
      { title: 'write', succeeded: [5, 6], failed: [7], isOfModel: true },
      { title: 'boot', succeeded: [1, 2], failed: [], isOfModel: true },
    ],
  });
  expect(find('deploy', 'C')).toMatchObject({
    basis: 'other models',
    flows: 4,
    steps: [
      { title: 'write', succeeded: [100, 5, 6], failed: [7] },
      { title: 'boot', succeeded: [10, 1, 2] },
    ],
  });
  expect(find('deploy', undefined)).toMatchObject({ basis: 'other models' });
});

test('a model that has only failed has its own failures and the others’ steps; what nobody did is assumed', () => {
  const find = historyOf([flow('A', { write: 7 }, { fails: 'write' }), flow('B', { write: 100, boot: 10 })]);
  expect(find('deploy', 'A')).toMatchObject({
    basis: 'other models',
    steps: [
      { title: 'write', succeeded: [], failed: [7], isOfModel: true },
      { title: 'boot', succeeded: [10], isOfModel: false },
    ],
  });
  expect(find('clean', 'A')).toEqual({ basis: 'assumed', flows: 0, steps: undefined });
  expect(historyOf([flow('A', { write: 7 }, { fails: 'write' })])('deploy', 'A').steps).toBeUndefined();
});
