import { expect, test } from 'vitest';
import { flowKinds, isBesideStates } from '#conductor/model/flows/flow-kinds.ts';
import {
  legalVerbs,
  nextProvisionState,
  type ProvisionState,
  provisionStates,
  provisionTransitions,
} from '#conductor/model/provision-states.ts';

test('every state can be reached from enroll', () => {
  const reached = new Set<ProvisionState>(['enroll']);
  for (const state of reached) for (const next of Object.values(provisionTransitions[state])) reached.add(next);
  expect(provisionStates.filter((state) => !reached.has(state))).toEqual([]);
});

test('every failure has a way out by an operator’s verb', () => {
  const failures = provisionStates.filter((state) => state.endsWith('failed') || state === 'error');
  expect(failures.length).toBeGreaterThan(5);
  expect(failures.filter((state) => legalVerbs(state).length === 0)).toEqual([]);
});

test.each([
  ['deploy failed', ['active', 'deploy', 'rebuild', 'deleted', 'undeploy']],
  ['enroll', ['manage']],
  ['deploying', ['abort']],
  ['cleaning', ['abort']],
  // `clean` is the conductor's own there
  ['deleting', ['abort']],
] as const)('%s allows %j', (state, verbs) => {
  expect(legalVerbs(state)).toEqual(verbs);
});

test('each flow kind’s events lead on from the state that it works in', () => {
  const moving = Object.entries(flowKinds).filter(([, kind]) => !isBesideStates(kind));
  expect(moving.length).toBeGreaterThan(10);
  for (const kind of Object.values(flowKinds)) expect(kind.during === undefined).toBe(isBesideStates(kind));
  for (const [kind, { events, during: state }] of moving) {
    if (!state) throw new Error(`nobody says where a ${kind} works`);
    for (const event of [events.done, events.fail]) {
      expect(event && nextProvisionState(state, event), `${kind} ${event}`).toBeDefined();
    }
    const waiting = events.wait ? nextProvisionState(state, events.wait) : state;
    const back = events.resume && waiting ? nextProvisionState(waiting, events.resume) : waiting;
    expect(back, `${kind} resume`).toBe(state);
  }
});
