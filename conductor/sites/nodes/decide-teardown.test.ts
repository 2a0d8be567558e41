import { describe, expect, test } from 'vitest';
import type { FlowKindName } from '#conductor/flows/flow-states.ts';
import { legalVerbs, provisionStates, transientStates } from '#conductor/nodes/provision-states.ts';
import { decideNode } from '#conductor/sites/nodes/decide-node.ts';
import type { NodeFacts, RestingFacts } from '#conductor/sites/nodes/node-facts.ts';
import {
  allocationStanding,
  earlierAction,
  factsOf,
  flowStanding,
  inLine,
  nameDecision,
  nodeCase,
  type StandingName,
  standings,
  teardownCase,
  teardownOrder,
} from '#conductor/sites/nodes/testing/node-cases.ts';

const names = Object.keys(standings) as StandingName[];
const wiped: FlowKindName[] = ['decommission', 'teardown', 'wipe'];
const afterwards = ['deploy', 'keep', 'remove'] as const;
const progress: (readonly FlowKindName[])[] = [[], ['decommission'], wiped, [...wiped, 'leave_cluster']];
const verbs = new Set(['manage', 'inspect', 'clean', 'provide', 'deleted']);

describe('in every state, whosever the node is, however far it is', () => {
  const all = provisionStates.flatMap((state) =>
    names.flatMap((name) => progress.map((succeeded) => ({ state, name, succeeded }))),
  );

  test.each(all)('$state, $name, after $succeeded: only what is possible there', ({ state, name, succeeded }) => {
    for (const each of afterwards) {
      const given = teardownCase(factsOf(state, name), { succeeded, teardown: { afterwards: each } });
      const [named = ''] = nameDecision(given).split(',');
      expect([...legalVerbs(state), 'no verb']).toContain(verbs.has(named) ? named : 'no verb');
      expect(decideNode(given)).toEqual(decideNode(given));
    }
  });

  test.each(all.filter(({ name }) => name === "somebody's instance"))(
    '$state, after $succeeded: nothing is done to somebody else’s',
    ({ state, name, succeeded }) => {
      expect(nameDecision(teardownCase(factsOf(state, name), { succeeded }))).toBe('failed');
    },
  );

  test.each(all.filter(({ state }) => !transientStates.has(state)))(
    '$state, $name, after $succeeded: nothing is destroyed before its clusters are left, or in maintenance',
    ({ state, name, succeeded }) => {
      const facts = factsOf(state, name);
      const first = nameDecision(teardownCase(facts));
      expect(['decommission', 'failed']).toContain(first);
      const maintained = { ...facts, node: { ...facts.node, maintenance: true, maintenanceReason: 'fan' } };
      expect(nameDecision(teardownCase(maintained, { succeeded }))).toBe('failed');
    },
  );
});

/** All acts from a state to the end of the phase, each followed by what it leads to when it succeeds. */
function walk(start: NodeFacts, teardown: Partial<typeof teardownOrder> = {}): string[] {
  const acts: string[] = [];
  let facts = start;
  const succeeded = new Set<FlowKindName>();
  for (let turn = 0; turn < 20; turn += 1) {
    const decision = nameDecision(teardownCase(facts, { teardown, succeeded: [...succeeded] }));
    acts.push(decision);
    if (decision === 'done' || decision === 'failed' || decision === 'waits' || decision === 'remove') break;
    const { node } = facts;
    if (!node) break;
    const free = { ...node, instanceUuid: null };
    if (decision === 'decommission') succeeded.add('decommission');
    else if (decision === 'leave cluster') succeeded.add('leave_cluster');
    else if (decision === 'deleted, wiping' || decision === 'provide, wiping') {
      succeeded.add('wipe');
      const left = decision === 'deleted, wiping' ? { ...facts, node: free } : facts;
      const provisionState = node.retired ? 'manageable' : 'available';
      facts = { ...left, node: { ...(left.node ?? free), provisionState } };
      if (decision === 'deleted, wiping')
        facts = { ...(facts.rest ? { rest: facts.rest } : {}), node: facts.node ?? free };
    } else if (decision === 'manage') facts = { ...facts, node: { ...node, provisionState: 'manageable' } };
    else if (decision === 'reserve')
      facts = { ...facts, node: { ...node, instanceUuid: 'instance-1' }, allocation: allocationStanding() };
  }
  return acts;
}

describe('the whole way', () => {
  const leave = ['reserve', 'leave cluster', 'done'];
  test.each([
    ['active', 'deployed by the site', ['decommission', 'deleted, wiping', ...leave]],
    ['rescue', 'deployed by the site', ['decommission', 'deleted, wiping', ...leave]],
    ['service failed', 'deployed by the site', ['decommission', 'deleted, wiping', ...leave]],
    ['deploy failed', 'reserved by the site', ['decommission', 'deleted, wiping', ...leave]],
    ['error', 'no instance', ['decommission', 'deleted, wiping', ...leave]],
    ['clean failed', 'no instance', ['decommission', 'manage', 'provide, wiping', ...leave]],
    ['manageable', 'no instance', ['decommission', 'provide, wiping', ...leave]],
    ['available', 'no instance', ['decommission', 'manage', 'provide, wiping', ...leave]],
    ['available', 'reserved by the site', ['decommission', 'manage', 'provide, wiping', 'leave cluster', 'done']],
    ['enroll', 'no instance', ['decommission', 'manage', 'provide, wiping', ...leave]],
    ['active', 'reserved by the site', ['failed']],
    ['active', 'no instance', ['failed']],
    ['adopt failed', 'no instance', ['failed']],
  ] as const)('from %s, %s', (state, name, acts) => {
    expect(walk(factsOf(state, name))).toEqual(acts);
  });

  test('kept, or forgotten; in no cluster, or only in etcd; retired', () => {
    const active = factsOf('active', 'deployed by the site');
    expect(walk(active, { afterwards: 'keep' })).toEqual(['decommission', 'deleted, wiping', 'leave cluster', 'done']);
    expect(walk(active, { afterwards: 'remove' }).at(-1)).toBe('remove');
    const alone = { kubernetes: false, etcd: false };
    expect(walk(active, alone)).toEqual(['deleted, wiping', 'reserve', 'done']);
    expect(walk(active, { kubernetes: false })).toEqual(['decommission', 'deleted, wiping', 'reserve', 'done']);
    const retired = { ...active, node: { ...active.node, retired: true } };
    expect(walk(retired)).toEqual(['failed']);
    expect(walk(retired, { ...alone, afterwards: 'keep' })).toEqual(['deleted, wiping', 'done']);
  });

  test('a node that is not enrolled has nothing to lose', () => {
    expect(nameDecision(teardownCase({}))).toBe('enrol');
    expect(nameDecision(teardownCase({}, { teardown: { afterwards: 'keep' } }))).toBe('failed');
    expect(nameDecision(teardownCase({}, { teardown: { afterwards: 'remove' } }))).toBe('done');
    const kept = { ...teardownOrder, afterwards: 'keep' as const };
    const order = { ...nodeCase({}).order, phase: 'deploy' as const, teardown: kept };
    expect(nameDecision(nodeCase(factsOf('available', 'no instance'), { order }))).toBe('done');
  });

  test('another password of its BMC is brought in line before it is switched off', () => {
    const facts = factsOf('active', 'deployed by the site');
    const rest = {
      ...facts.rest,
      differs: ['driver_info', 'tags'],
      needsHardware: false,
      needsInspection: false,
      succeeded: new Set<never>(),
    };
    expect(nameDecision(teardownCase({ ...facts, rest }, { succeeded: ['decommission'] }))).toBe('renew access');
  });
});

test('what a wipe has preserved is not lost to what prepares the node', () => {
  const told = (state: 'available' | 'manageable', rest: Partial<RestingFacts>, preserveLocalStorage = true) => {
    const facts = factsOf(state, 'reserved by the site');
    const all = { ...inLine, ...rest };
    const succeeded = [...wiped, 'leave_cluster'] as const;
    return nameDecision(teardownCase({ ...facts, rest: all }, { succeeded, teardown: { preserveLocalStorage } }));
  };
  expect(told('manageable', {})).toBe('provide, wiping');
  expect(told('manageable', {}, false)).toBe('provide');
  expect(told('manageable', { needsHardware: true })).toBe('clean');
  for (const state of ['manageable', 'available'] as const) {
    expect(told(state, { needsHardware: true, rebuildsRaid: true })).toBe('failed');
    expect(told(state, { needsHardware: true, rebuildsRaid: true }, false)).not.toBe('failed');
  }
});

describe('a flow', () => {
  test.each(['decommission', 'leave_cluster'] as const)(
    '%s of this action that has failed ends it, in whatever state',
    (kind) => {
      const flow = flowStanding({ kind, state: 'failed', isOpen: false, error: 'a budget is in the way' });
      const facts = { ...factsOf('active', 'deployed by the site'), flow };
      expect(decideNode(teardownCase(facts))).toMatchObject({
        outcome: { state: 'failed', error: 'a budget is in the way (baton watch n1)' },
      });
      const earlier = { ...facts, flow: { ...flow, actionId: earlierAction } };
      expect(nameDecision(teardownCase(earlier))).toBe('decommission');
    },
  );

  test('of somebody else is waited for, but for a deploy', () => {
    const facts = factsOf('active', 'deployed by the site');
    const flow = flowStanding({ kind: 'service', actionId: null, requestedBy: 'bob' });
    expect(nameDecision(teardownCase({ ...facts, flow }))).toBe('waits');
    expect(nameDecision(teardownCase({ ...facts, flow: { ...flow, kind: 'deploy' } }))).toBe('failed');
  });

  test('of this action that leaves its node’s state alone is broken off', () => {
    const flow = flowStanding({ kind: 'decommission', state: 'waiting' });
    const given = teardownCase({ ...factsOf('active', 'deployed by the site'), flow });
    const order = { ...given.order, cancel: 'stopped' };
    expect(nameDecision({ ...given, order })).toBe('abort');
    expect(nameDecision({ ...given, order, facts: { ...given.facts, flow: { ...flow, abortRequested: 'x' } } })).toBe(
      'waits',
    );
  });
});
