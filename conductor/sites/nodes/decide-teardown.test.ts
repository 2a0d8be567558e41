import { describe, expect, test } from 'vitest';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { legalVerbs, provisionStates, transientStates } from '#conductor/model/provision-states.ts';
import { inWords } from '#conductor/model/testing/in-words.ts';
import { decideNode } from '#conductor/sites/nodes/decide-node.ts';

import type { NodeFacts, ObservedFlow, RestingFacts } from '#conductor/sites/nodes/node-decision.ts';
import {
  earlierAction,
  factsOf,
  inLine,
  type NodeCaseName,
  nameDecision,
  nodeCase,
  nodeCases,
  observedAllocation,
  observedFlow,
  teardownCase,
  teardownOrder,
} from '#conductor/sites/nodes/testing/node-cases.ts';

const decided = (given: Parameters<typeof decideNode>[0]) => inWords(decideNode(given));

const names = Object.keys(nodeCases) as NodeCaseName[];
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
      const isWiped = succeeded.includes('wipe') && !succeeded.includes('leave_cluster');
      // but its place in the cluster, which is this action's, is given up
      const allowed = isWiped ? ['leave cluster', 'waits'] : ['failed'];
      expect(allowed).toContain(nameDecision(teardownCase(factsOf(state, name), { succeeded })));
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

test.each(provisionStates.filter((state) => !transientStates.has(state)))(
  '%s: what could not be deployed again is not taken apart for it; once wiped, it only leaves its cluster',
  (state) => {
    const facts = { ...factsOf(state, 'deployed by the site'), undeployable: 'no image' };
    expect(decided(teardownCase(facts))).toMatchObject({ outcome: { state: 'failed', error: 'no image' } });
    expect(nameDecision(teardownCase(facts, { succeeded: wiped }))).toBe('leave cluster');
    expect(nameDecision(teardownCase(facts, { succeeded: [...wiped, 'leave_cluster'] }))).toBe('failed');
    // who only wants to be rid of it needs nothing to deploy
    const kept = { teardown: { afterwards: 'keep' } } as const;
    expect(decideNode(teardownCase(facts, kept))).toEqual(
      decideNode(teardownCase(factsOf(state, 'deployed by the site'), kept)),
    );
  },
);

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
      const flow = observedFlow({ kind: 'wipe', state: 'succeeded', isOpen: false });
      const { rest = inLine } = facts;
      const wipedNode = { ...(decision === 'deleted, wiping' ? free : node), provisionState: 'manageable' as const };
      facts = decision === 'deleted, wiping' ? { rest, node: wipedNode, flow } : { ...facts, node: wipedNode, flow };
    } else if (decision === 'forget reservation') facts = { ...facts, node: free };
    else if (decision === 'make available') {
      const instanceUuid = teardown.afterwards === 'keep' ? null : 'instance-1';
      const allocation = instanceUuid === null ? {} : { allocation: observedAllocation() };
      facts = { ...facts, node: { ...node, provisionState: 'available', instanceUuid }, ...allocation };
    } else if (decision === 'manage') facts = { ...facts, node: { ...node, provisionState: 'manageable' } };
  }
  return acts;
}

describe('the whole way', () => {
  const leave = ['leave cluster', 'make available', 'done'];
  test.each([
    ['active', 'deployed by the site', ['decommission', 'deleted, wiping', ...leave]],
    ['rescue', 'deployed by the site', ['decommission', 'deleted, wiping', ...leave]],
    ['service failed', 'deployed by the site', ['decommission', 'deleted, wiping', ...leave]],
    ['deploy failed', 'reserved by the site', ['decommission', 'deleted, wiping', ...leave]],
    ['error', 'no instance', ['decommission', 'deleted, wiping', ...leave]],
    ['clean failed', 'no instance', ['decommission', 'manage', 'provide, wiping', ...leave]],
    ['manageable', 'no instance', ['decommission', 'provide, wiping', ...leave]],
    ['available', 'no instance', ['decommission', 'manage', 'provide, wiping', ...leave]],
    ['available', 'reserved by the site', ['decommission', 'manage', 'provide, wiping', ...leave]],
    ['enroll', 'no instance', ['decommission', 'manage', 'provide, wiping', ...leave]],
    ['active', 'reserved by the site', ['failed']],
    ['active', 'no instance', ['failed']],
    ['adopt failed', 'no instance', ['failed']],
  ] as const)('from %s, %s', (state, name, acts) => {
    expect(walk(factsOf(state, name))).toEqual(acts);
  });

  test('kept, or forgotten; in no cluster, or only in etcd; retired', () => {
    const active = factsOf('active', 'deployed by the site');
    expect(walk(active, { afterwards: 'keep' })).toEqual(['decommission', 'deleted, wiping', ...leave]);
    expect(walk(active, { afterwards: 'remove' }).at(-1)).toBe('remove');
    const alone = { kubernetes: false, etcd: false };
    expect(walk(active, alone)).toEqual(['deleted, wiping', 'make available', 'done']);
    expect(walk(active, { kubernetes: false })).toEqual(['decommission', 'deleted, wiping', 'make available', 'done']);
    const retired = { ...active, node: { ...active.node, retired: true } };
    expect(walk(retired)).toEqual(['failed']);
    expect(walk(retired, { ...alone, afterwards: 'keep' })).toEqual(['deleted, wiping', 'done']);
  });

  test('a retired node whose wipe an action before was stopped at is wiped by the next', () => {
    const owedWipe = { preserveLocalStorage: false };
    const left = (state: 'manageable' | 'clean failed' | 'error', more = {}) => {
      const facts = factsOf(state, 'no instance');
      return { ...facts, node: { ...facts.node, retired: true, owedWipe, ...more } };
    };
    const keep = { afterwards: 'keep' } as const;
    const wipes = ['provide, wiping', 'leave cluster', 'done'];
    expect(walk(left('manageable'), keep)).toEqual(['decommission', ...wipes]);
    expect(walk(left('clean failed'), keep)).toEqual(['decommission', 'manage', ...wipes]);
    expect(walk(left('manageable'), { afterwards: 'remove' }).at(-1)).toBe('remove');
    expect(walk(left('manageable'))).toEqual(['failed']);
    expect(walk(left('manageable', { owedWipe: null }), keep)).toEqual(['failed']);
  });

  test('the site’s reservation of a node that is only torn down is given back before it is wiped', () => {
    const reserved = factsOf('available', 'reserved by the site');
    const first = ['decommission', 'manage', 'forget reservation', 'provide, wiping', 'leave cluster'];
    expect(walk(reserved, { afterwards: 'keep' })).toEqual([...first, 'make available', 'done']);
    expect(walk(reserved, { afterwards: 'remove' })).toEqual([...first, 'remove']);
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

test('what a wipe has preserved is not lost to what prepares the node, by this action or a later one', () => {
  const reported = (state: 'available' | 'manageable', rest: Partial<RestingFacts>, preserveLocalStorage = true) => {
    const facts = factsOf(state, 'reserved by the site');
    const all = { ...inLine, ...rest };
    const succeeded = [...wiped, 'leave_cluster'] as const;
    return nameDecision(teardownCase({ ...facts, rest: all }, { succeeded, teardown: { preserveLocalStorage } }));
  };
  expect(reported('manageable', { needsHardware: true })).toBe('clean');
  for (const state of ['manageable', 'available'] as const) {
    const raid = { needsHardware: true, rebuildsRaid: true };
    expect(reported(state, raid)).toBe('failed');
    expect(reported(state, raid, false)).not.toBe('failed');
    const later = nodeCase({ ...factsOf(state, 'no instance'), rest: { ...inLine, ...raid, sparesDisks: true } });
    expect(nameDecision(later)).toBe('failed');
    expect(decided(later)).toMatchObject({ outcome: { error: expect.stringContaining('kept disks') } });
  }
});

describe('what was wiped just now becomes available without another cleaning', () => {
  const facts = factsOf('manageable', 'no instance');
  const decide = (flow: Partial<ObservedFlow>, succeeded: readonly FlowKindName[] = []) => {
    const last = observedFlow({ kind: 'leave_cluster', state: 'succeeded', isOpen: false, ...flow });
    return nameDecision(
      teardownCase({ ...facts, flow: last }, { succeeded: [...wiped, 'leave_cluster', ...succeeded] }),
    );
  };

  test('but not after RAID, or somebody else’s work', () => {
    expect(decide({})).toBe('make available');
    expect(decide({ kind: 'manual_clean' }, ['manual_clean'])).toBe('provide');
    expect(decide({ actionId: null, kind: 'teardown' })).toBe('provide');
  });
});

describe('paused', () => {
  test.each(
    provisionStates.flatMap((state) => names.flatMap((name) => progress.map((done) => [state, name, done] as const))),
  )('%s, %s, after %s: nothing is begun', (state, name, succeeded) => {
    const { order, ...given } = teardownCase(factsOf(state, name), { succeeded });
    expect(['waits', 'failed', 'done', 'record']).toContain(
      nameDecision({ ...given, order: { ...order, paused: true } }),
    );
  });

  test('it says before what', () => {
    const { order, ...given } = teardownCase(factsOf('active', 'deployed by the site'), {
      succeeded: ['decommission'],
    });
    expect(decided({ ...given, order: { ...order, paused: true } })).toEqual({
      kind: 'outcome',
      outcome: { state: 'working', doing: 'paused before releasing its instance, then wiping it' },
    });
  });

  test('released by then, it waits to be wiped, and is wiped when the action goes on, retired or not', () => {
    for (const each of afterwards) {
      const facts = factsOf('manageable', 'no instance');
      const retired = { ...facts, node: { ...facts.node, retired: each !== 'deploy' } };
      const { order, ...given } = teardownCase(retired, {
        succeeded: ['decommission', 'teardown'],
        teardown: { afterwards: each },
      });
      expect(decided({ ...given, order: { ...order, paused: true } })).toEqual({
        kind: 'outcome',
        outcome: { state: 'working', doing: 'paused before wiping it' },
      });
      expect(nameDecision({ ...given, order })).toBe('provide, wiping');
    }
  });
});

describe('a node that may have come back since this action took it out of its clusters', () => {
  const decide = (state: Parameters<typeof factsOf>[0], mayBeBack: boolean, succeeded: FlowKindName[] = []) => {
    const facts = factsOf(state, 'deployed by the site');
    const rest = { ...inLine, mayBeBack };
    return nameDecision(teardownCase({ ...facts, rest }, { succeeded: ['decommission', ...succeeded] }));
  };

  test.each(['active', 'rescue', 'rescue failed', 'unrescue failed', 'service failed'] as const)(
    'is taken out once more in %s, where its pods would be lost',
    (state) => {
      expect(decide(state, true)).toBe('decommission');
      expect(decide(state, false)).toBe('deleted, wiping');
    },
  );

  test('is not held up by it when nothing runs on it any more', () => {
    expect(decide('error', true)).toBe('deleted, wiping');
    expect(decide('manageable', true)).toBe('provide, wiping');
    expect(decide('manageable', true, ['teardown', 'wipe'])).toBe('leave cluster');
  });
});

test('a conductor that has not what the action’s clusters need waits, and says so', () => {
  const lacks = 'conductor c2 has no BATON_KUBECONFIG';
  const active = factsOf('active', 'deployed by the site');
  expect(decided(teardownCase(active, { teardown: { lacks } }))).toMatchObject({
    outcome: { state: 'working', doing: expect.stringContaining(lacks) },
  });
  expect(
    nameDecision(teardownCase(factsOf('manageable', 'no instance'), { succeeded: wiped, teardown: { lacks } })),
  ).toBe('waits');
});

test('a node that somebody has taken since it was wiped leaves the cluster all the same', () => {
  const taken = factsOf('available', "somebody's instance");
  expect(nameDecision(teardownCase(taken, { succeeded: wiped }))).toBe('leave cluster');
  expect(nameDecision(teardownCase(taken, { succeeded: [...wiped, 'leave_cluster'] }))).toBe('failed');
  const deploying = factsOf('deploying', "somebody's instance", {
    flow: observedFlow({ kind: 'deploy', actionId: null }),
  });
  expect(nameDecision(teardownCase(deploying, { succeeded: wiped }))).toBe('waits');
  expect(nameDecision(teardownCase(taken, { succeeded: ['decommission'] }))).toBe('failed');
});

describe('a flow', () => {
  test.each(['decommission', 'leave_cluster'] as const)(
    '%s of this action that has failed ends it, in whatever state',
    (kind) => {
      const flow = observedFlow({ kind, state: 'failed', isOpen: false, error: 'a budget is in the way' });
      const facts = { ...factsOf('active', 'deployed by the site'), flow };
      expect(decided(teardownCase(facts))).toMatchObject({
        outcome: { state: 'failed', error: 'a budget is in the way (baton watch n1)' },
      });
      const earlier = { ...facts, flow: { ...flow, actionId: earlierAction } };
      expect(nameDecision(teardownCase(earlier))).toBe('decommission');
    },
  );

  test('of somebody else is waited for, but for a deploy', () => {
    const facts = factsOf('active', 'deployed by the site');
    const flow = observedFlow({ kind: 'service', actionId: null, requestedBy: 'bob' });
    expect(nameDecision(teardownCase({ ...facts, flow }))).toBe('waits');
    expect(nameDecision(teardownCase({ ...facts, flow: { ...flow, kind: 'deploy' } }))).toBe('failed');
  });

  test('of this action that leaves its node’s state alone is broken off', () => {
    const flow = observedFlow({ kind: 'decommission', state: 'waiting' });
    const given = teardownCase({ ...factsOf('active', 'deployed by the site'), flow });
    const order = { ...given.order, cancel: 'stopped' };
    expect(nameDecision({ ...given, order })).toBe('abort');
    expect(nameDecision({ ...given, order, facts: { ...given.facts, flow: { ...flow, abortRequested: 'x' } } })).toBe(
      'waits',
    );
  });
});
