import { describe, expect, test } from 'vitest';
import { legalVerbs, provisionStates, transientStates } from '#conductor/model/provision-states.ts';
import { inWords } from '#conductor/model/testing/in-words.ts';
import { decideNode, patienceMs } from '#conductor/sites/nodes/decide-node.ts';
import {
  earlierAction,
  factsOf,
  failedFlows,
  inLine,
  type NodeCaseName,
  nameDecision,
  nodeCase,
  nodeCases,
  observedAllocation,
  observedFlow,
  observedNode,
  restingFacts,
  thisAction,
} from '#conductor/sites/nodes/testing/node-cases.ts';

const decided = (given: Parameters<typeof decideNode>[0]) => inWords(decideNode(given));

const phases = ['prepare', 'deploy'] as const;
const names = Object.keys(nodeCases) as NodeCaseName[];
const verbs = new Set(['manage', 'inspect', 'clean', 'provide', 'deleted', 'active']);

describe('in every state, whosever the node is', () => {
  const all = provisionStates.flatMap((state) =>
    names.flatMap((name) => phases.map((phase) => ({ state, name, phase }))),
  );

  test.each(all)('$state, $name, $phase: only what is possible there', ({ state, name, phase }) => {
    const given = nodeCase(factsOf(state, name), { phase });
    const named = nameDecision(given);
    const needed = named === 'deploy' ? 'active' : named;
    const asksFor = verbs.has(needed) ? needed : 'no verb';
    expect([...legalVerbs(state), 'no verb']).toContain(asksFor);
    // the same facts, the same decision
    expect(decideNode(given)).toEqual(decideNode(given));
  });

  test.each(all.filter(({ name }) => name === "somebody's instance"))(
    '$state, $phase: nothing is done to somebody else’s',
    ({ state, name, phase }) => {
      expect(decided(nodeCase(factsOf(state, name), { phase }))).toMatchObject({
        outcome: { state: 'failed', error: expect.stringContaining('instance-2') },
      });
    },
  );

  test.each(phases.flatMap((phase) => provisionStates.map((state) => ({ state, phase }))))(
    '$state, $phase: an owner’s or a lessee’s node is theirs',
    ({ state, phase }) => {
      const owned = restingFacts({ provisionState: state, owner: 'team-a' });
      expect(nameDecision(nodeCase(owned, { phase }))).toBe('failed');
      const leased = restingFacts({ provisionState: state, lessee: 'team-a' });
      expect(nameDecision(nodeCase(leased, { phase }))).toBe('failed');
    },
  );

  test.each(all)('$state, $name, $phase: an order to break off never begins anything', ({ state, name, phase }) => {
    const given = nodeCase(factsOf(state, name), { phase });
    const order = { ...given.order, cancel: 'too late' };
    expect(nameDecision({ ...given, order })).toBe('failed');
  });

  test.each(all.filter(({ state }) => state !== 'active' && !transientStates.has(state)))(
    '$state, $name, $phase: in maintenance nothing is begun',
    ({ state, name, phase }) => {
      const facts = factsOf(state, name);
      const maintained = {
        ...facts,
        node: { ...facts.node, maintenance: true, maintenanceReason: 'fan' },
      };
      expect(nameDecision(nodeCase(maintained, { phase }))).toBe('failed');
    },
  );
});

describe('a failure', () => {
  const failures = Object.entries(failedFlows).flatMap(([state, kind]) =>
    phases.map((phase) => ({ state: state as keyof typeof failedFlows, kind, phase })),
  );

  test.each(failures)('of this action in $state ends the $phase, with its reason', ({ state, kind, phase }) => {
    const flow = observedFlow({ kind, state: 'failed', isOpen: false, error: 'disk on fire\nat line 2' });
    const facts = factsOf(state, 'reserved by the site', { flow });
    expect(decided(nodeCase(facts, { phase }))).toEqual({
      kind: 'outcome',
      outcome: { state: 'failed', error: 'disk on fire (baton watch n1)' },
    });
  });

  test.each(failures.filter(({ phase }) => phase === 'prepare'))(
    'of an earlier action in $state is tried again by prepare',
    ({ state, kind }) => {
      const flow = observedFlow({ kind, state: 'failed', isOpen: false, actionId: earlierAction, error: 'x' });
      expect(['manage', 'deleted']).toContain(nameDecision(nodeCase(factsOf(state, 'no instance', { flow }))));
    },
  );

  test('of this action that somebody has put right meanwhile counts no more', () => {
    const flow = observedFlow({ kind: 'clean', state: 'failed', isOpen: false, error: 'x' });
    expect(nameDecision(nodeCase(factsOf('manageable', 'no instance', { flow })))).toBe('provide');
  });

  test('of an earlier cleaning has left maintenance, which ends; that of this one stays, and so does an operator’s', () => {
    const node = {
      provisionState: 'clean failed',
      maintenance: true,
      maintenanceReason: 'clean step failed',
      fault: 'clean failure',
    } as const;
    const failed = observedFlow({ kind: 'clean', state: 'failed', isOpen: false, error: 'x' });
    const earlier = restingFacts(node, { flow: { ...failed, actionId: earlierAction } });
    expect(nameDecision(nodeCase(earlier))).toBe('end maintenance');
    expect(nameDecision(nodeCase(restingFacts(node, { flow: failed })))).toBe('failed');
    expect(nameDecision(nodeCase(restingFacts({ ...node, fault: null })))).toBe('failed');
    expect(nameDecision(nodeCase(restingFacts({ ...node, fault: 'power failure' })))).toBe('failed');
    expect(nameDecision(nodeCase(earlier, { phase: 'deploy' }))).toBe('failed');
  });
});

describe('prepare', () => {
  test('enrols what is not there; deploy does not', () => {
    expect(nameDecision(nodeCase({}))).toBe('enrol');
    expect(nameDecision(nodeCase({}, { phase: 'deploy' }))).toBe('failed');
  });

  const at = (state: Parameters<typeof factsOf>[0], rest: Partial<typeof inLine>, name: NodeCaseName = 'no instance') =>
    nameDecision(nodeCase(factsOf(state, name, { rest: { ...inLine, ...rest } })));

  test('brings in line first, then hardware, inspection, cleaning', () => {
    const needs = { needsHardware: true, needsInspection: true };
    for (const state of ['enroll', 'manageable', 'available'] as const) {
      expect(at(state, { ...needs, differs: ['traits'] })).toBe('align');
    }
    expect(at('manageable', needs)).toBe('clean');
    expect(at('manageable', { ...needs, succeeded: new Set(['manual_clean']) })).toBe('inspect');
    expect(at('manageable', { ...needs, succeeded: new Set(['manual_clean', 'inspect']) })).toBe('provide');
    expect(at('manageable', {})).toBe('provide');
    // an inspection of its own is not worth two boots; RAID is what was asked for
    expect(at('available', needs)).toBe('manage');
    expect(at('available', { needsInspection: true })).toBe('reserve');
    expect(at('available', { needsHardware: true, succeeded: new Set(['manual_clean']) })).toBe('reserve');
  });

  test('what can never be is a failure', () => {
    expect(at('manageable', { impossible: 'its port is n7’s' })).toBe('failed');
    expect(nameDecision(nodeCase(restingFacts({ retired: true })))).toBe('failed');
    expect(nameDecision(nodeCase(restingFacts({ retired: true, provisionState: 'available' })))).toBe('failed');
  });

  test.each([
    ['waits for its reservation', observedAllocation({ state: 'allocating', nodeUuid: null }), 'waits'],
    ['fails with its reservation', observedAllocation({ state: 'error', nodeUuid: null, lastError: 'x' }), 'failed'],
    [
      'withdraws one that an earlier action left in error',
      observedAllocation({ state: 'error', nodeUuid: null, actionId: earlierAction }),
      'forget reservation',
    ],
    ['does not take the node of another', observedAllocation({ nodeUuid: 'node-2' }), 'failed'],
  ])('%s', (_what, allocation, expected) => {
    expect(nameDecision(nodeCase(restingFacts({ provisionState: 'available' }, { allocation })))).toBe(expected);
  });

  test('names the node that its reservation has in its place', () => {
    const allocation = observedAllocation({ nodeUuid: 'node-2', nodeName: 'n2' });
    expect(decided(nodeCase(restingFacts({ provisionState: 'available' }, { allocation })))).toMatchObject({
      outcome: { error: expect.stringMatching(/ has node n2$/) },
    });
  });

  test('tells what was there already from what it has done', () => {
    const reserved = factsOf('available', 'reserved by the site');
    expect(decided(nodeCase(reserved))).toEqual({ kind: 'outcome', outcome: { state: 'done' } });
    const before = { ...reserved, allocation: observedAllocation({ actionId: earlierAction }) };
    expect(decided(nodeCase(before))).toMatchObject({ outcome: { remark: 'it was prepared already' } });
    const deployed = factsOf('active', 'deployed by the site');
    expect(decided(nodeCase(deployed))).toMatchObject({ outcome: { remark: 'it was deployed already' } });
    expect(decided(nodeCase(deployed, { designHash: () => 'other' }))).toMatchObject({
      outcome: { remark: expect.stringContaining('from revision 3; the documents say something else') },
    });
  });

  test.each(['prepare', 'deploy'] as const)('of what is deployed already %s names what alone differs', (phase) => {
    const differs = ['driver', 'port 52:54:00:00:00:01', 'resource_class'];
    const deployed = factsOf('active', 'deployed by the site', { rest: { ...inLine, differs } });
    expect(decided(nodeCase(deployed, { phase }))).toMatchObject({
      outcome: { state: 'done', remark: expect.stringContaining(`by now: ${differs.join(', ')} (redeploy_server`) },
    });
  });

  test('a failed deploy of the site’s is deployed again, but for ports and hardware, which need it torn down', () => {
    expect(at('deploy failed', {}, 'reserved by the site')).toBe('done');
    expect(at('deploy failed', { differs: ['driver_info'] }, 'reserved by the site')).toBe('align');
    expect(at('deploy failed', { needsHardware: true }, 'reserved by the site')).toBe('deleted');
    expect(at('deploy failed', { differs: ['port 52:54:00:00:00:01'] }, 'reserved by the site')).toBe('deleted');
  });
});

describe('a node that the site has deployed', () => {
  test.each(phases)('whose rebuild failed is left as it is by %s', (phase) => {
    const flow = observedFlow({ kind: 'deploy', state: 'failed', isOpen: false, actionId: null });
    for (const rest of [inLine, { ...inLine, needsHardware: true, differs: ['driver_info', 'driver'] }]) {
      const facts = factsOf('deploy failed', 'deployed by the site', { flow, rest });
      expect(decided(nodeCase(facts, { phase }))).toEqual({
        kind: 'outcome',
        outcome: {
          state: 'failed',
          error: 'its rebuild failed; rebuild it, or: redeploy_server with target-revision=committed redeploys it',
        },
      });
    }
  });

  test('gets the login that its BMC has now, and nothing else', () => {
    const decided = (differs: readonly string[], state: 'active' | 'rescue' = 'active') =>
      nameDecision(nodeCase(factsOf(state, 'deployed by the site', { rest: { ...inLine, differs } })));
    expect(decided(['driver_info', 'traits'])).toBe('renew access');
    expect(decided(['driver_info'], 'rescue')).toBe('renew access');
    expect(decided(['traits', 'properties/rack'])).toBe('done');
    // another driver's words would mean nothing to the one that it has
    expect(decided(['driver', 'driver_info'])).toBe('done');
  });
});

describe('a flow under way', () => {
  test('of this action is told of, with its progress', () => {
    const step = { name: 'deploy.erase_devices_metadata', plugin: null, waitingFor: 'the agent', percent: 40 };
    const facts = factsOf('clean wait', 'no instance', { flow: observedFlow({ step }) });
    expect(decided(nodeCase(facts))).toEqual({
      kind: 'outcome',
      outcome: { state: 'working', doing: 'cleaning: deploy.erase_devices_metadata, 40 %' },
    });
  });

  test('of somebody else is waited for, unless it is a deploy', () => {
    const others = observedFlow({ actionId: null, requestedBy: 'bob' });
    expect(decided(nodeCase(factsOf('clean wait', 'no instance', { flow: others })))).toMatchObject({
      outcome: { state: 'working', doing: expect.stringContaining('bob') },
    });
    const deploy = { ...others, kind: 'deploy' } as const;
    expect(nameDecision(nodeCase(factsOf('wait call-back', 'reserved by the site', { flow: deploy })))).toBe('failed');
    const service = { ...others, kind: 'service' } as const;
    expect(nameDecision(nodeCase(factsOf('service wait', 'deployed by the site', { flow: service })))).toBe('done');
  });
});

describe('an order to break off', () => {
  const cancelled = (state: Parameters<typeof factsOf>[0], flow = observedFlow(), cancelledMs = 0) => {
    const given = nodeCase(factsOf(state, 'no instance', { flow }), { cancelledMs });
    return { ...given, order: { ...given.order, cancel: 'too late' } };
  };

  test('aborts the action’s flow where that is possible, and waits for it', () => {
    expect(nameDecision(cancelled('clean wait'))).toBe('abort');
    expect(nameDecision(cancelled('verifying'))).toBe('waits');
    expect(nameDecision(cancelled('clean wait', observedFlow({ abortRequested: 'x' })))).toBe('waits');
    expect(nameDecision(cancelled('clean wait', observedFlow({ state: 'aborting' })))).toBe('waits');
    expect(nameDecision(cancelled('clean wait', observedFlow({ actionId: null })))).toBe('failed');
  });

  test('whose abort hangs leaves the node in maintenance after a while', () => {
    const hangs = cancelled('clean wait', observedFlow({ abortRequested: 'x' }), patienceMs + 1);
    expect(decided(hangs)).toMatchObject({
      act: { kind: 'put into maintenance' },
      ends: { state: 'failed', error: expect.stringMatching(/too late; .* 10 minutes .* in 'clean wait'/) },
    });
    const node = observedNode({ provisionState: 'clean wait', maintenance: true });
    const facts = { ...hangs.facts, node };
    expect(nameDecision({ ...hangs, facts })).toBe('failed');
  });

  test('withdraws a reservation that is still to come', () => {
    const allocation = observedAllocation({ state: 'allocating', nodeUuid: null });
    const given = nodeCase(restingFacts({ provisionState: 'available' }, { allocation }));
    expect(decided({ ...given, order: { ...given.order, cancel: 'too late' } })).toMatchObject({
      act: { kind: 'forget reservation' },
      ends: { state: 'failed', error: 'too late' },
    });
  });

  test('that comes after the deploy has ended says so, and what is there is recorded', () => {
    const flow = observedFlow({ kind: 'deploy', state: 'succeeded', isOpen: false });
    const given = nodeCase(factsOf('active', 'reserved by the site', { flow }), { phase: 'deploy' });
    expect(decided({ ...given, order: { ...given.order, cancel: 'too late' } })).toMatchObject({
      act: { kind: 'record' },
      ends: { state: 'failed', error: expect.stringContaining('it is active') },
    });
  });
});

describe('deploy', () => {
  test('records what a site action has deployed before it says that it is done', () => {
    for (const actionId of [thisAction, earlierAction]) {
      const flow = observedFlow({ kind: 'deploy', state: 'succeeded', isOpen: false, actionId });
      const facts = factsOf('active', 'reserved by the site', { flow });
      expect(decided(nodeCase(facts, { phase: 'deploy' }))).toMatchObject({
        act: { kind: 'record' },
        ends: { state: 'done' },
      });
    }
  });

  test('begins on a prepared node, and on one whose last deploy failed', () => {
    const flow = observedFlow({ kind: 'deploy', state: 'aborted', isOpen: false, actionId: earlierAction });
    for (const state of ['available', 'deploy failed'] as const) {
      expect(nameDecision(nodeCase(factsOf(state, 'reserved by the site', { flow }), { phase: 'deploy' }))).toBe(
        'deploy',
      );
      expect(nameDecision(nodeCase(factsOf(state, 'no instance', { flow }), { phase: 'deploy' }))).toBe('failed');
    }
  });
});
