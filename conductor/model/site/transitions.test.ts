import { expect, test } from 'vitest';
import { groupStages, isUnderWay, nodePhases } from '#conductor/model/site/site-run.ts';
import {
  allocationStates,
  deliveryStates,
  isFinal,
  requireTransition,
  statesBefore,
  statesOf,
  type Transitions,
} from '#conductor/model/site/transitions.ts';

const tables: [string, Transitions<string>, string][] = [
  ['groups', groupStages, 'not_started'],
  ['allocations', allocationStates, 'allocating'],
  ['deliveries', deliveryStates, 'pending'],
];

test.each(tables)('%s: every state can be reached, and leads to an end', (_, table, first) => {
  const states = statesOf(table);
  const reached = new Set([first]);
  for (const state of reached) for (const next of table[state] ?? []) reached.add(next);
  expect([...reached].sort()).toEqual([...states].sort());
  const leading = new Set(states.filter((state) => isFinal(table, state)));
  for (const state of leading) for (const before of statesBefore(table, state)) leading.add(before);
  expect([...leading].sort()).toEqual([...states].sort());
});

test('what cannot follow is refused', () => {
  expect(requireTransition(groupStages, 'preparing', 'prepared')).toBe('prepared');
  expect(() => requireTransition(groupStages, 'success', 'failure')).toThrow("'failure' cannot follow state 'success'");
});

test('a group is under way between its first stage and its last', () => {
  expect(statesOf(groupStages).filter((stage) => isUnderWay({ stage }))).toEqual([
    'preparing',
    'prepared',
    'deploying',
  ]);
});

test('a deploy takes a node where its prepare has left it', () => {
  expect(nodePhases.deploy.takes).toBe(nodePhases.prepare.done);
});
