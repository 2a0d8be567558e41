import { describe, expect, test } from 'vitest';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { provisionStates } from '#conductor/model/provision-states.ts';
import { inWords } from '#conductor/model/testing/in-words.ts';
import { decideNode } from '#conductor/sites/nodes/decide-node.ts';
import {
  earlierAction,
  factsOf,
  inLine,
  nameDecision,
  nodeCase,
  nodeCases,
  observedFlow,
  siteNode,
  teardownOrder,
} from '#conductor/sites/nodes/testing/node-cases.ts';

/** A node that the site has deployed, and that is not back in its clusters: nothing lets it count as done. */

const awaited = { ...nodeCases['deployed by the site'].deployed, isAwaited: true };
const rest = { ...inLine, awaitsService: true };
const orders = [
  { node: siteNode, phase: 'deploy' as const },
  { node: siteNode, phase: 'deploy' as const, teardown: teardownOrder },
];
const flows = [
  undefined,
  ...(Object.keys(flowKinds) as FlowKindName[]).flatMap((kind) => [
    observedFlow({ kind, actionId: null, requestedBy: 'ada' }),
    observedFlow({ kind, actionId: earlierAction }),
    observedFlow({ kind, actionId: null, state: 'failed', isOpen: false }),
    observedFlow({ kind, actionId: null, state: 'succeeded', isOpen: false }),
  ]),
];

describe.each(orders)('of an order with teardown $teardown.afterwards', (order) => {
  test.each(provisionStates)('in %s, whatever flow there is', (state) => {
    for (const flow of flows) {
      const facts = factsOf(state, 'deployed by the site', { rest, deployed: awaited, ...(flow ? { flow } : {}) });
      expect([nameDecision(nodeCase(facts, { order })), flow]).not.toEqual(['done', flow]);
    }
  });
});

test('as long as nobody has seen it in service it is prepared, and not there already', () => {
  const facts = factsOf('active', 'deployed by the site', { rest, deployed: awaited });
  expect(inWords(decideNode(nodeCase(facts, { phase: 'prepare' })))).toMatchObject({ outcome: { state: 'done' } });
  expect(inWords(decideNode(nodeCase(facts, { phase: 'prepare' })))).not.toHaveProperty('outcome.remark');
  const back = factsOf('active', 'deployed by the site', { rest });
  expect(inWords(decideNode(nodeCase(back, { phase: 'prepare' })))).toHaveProperty('outcome.remark');
});

test('somebody’s flow is waited for, and then the clusters', () => {
  const facts = factsOf('active', 'deployed by the site', { rest, deployed: awaited });
  const flow = observedFlow({ kind: 'service', actionId: null, requestedBy: 'ada' });
  expect(nameDecision(nodeCase({ ...facts, flow }, { phase: 'deploy' }))).toBe('waits');
  expect(nameDecision(nodeCase(facts, { phase: 'deploy' }))).toBe('enter service');
});

test('a conductor without the kubeconfig with which the action began waits for one that has it', () => {
  const facts = factsOf('active', 'deployed by the site', { rest, deployed: awaited });
  const lacks = 'conductor b has no BATON_KUBECONFIG';
  const order = { node: siteNode, phase: 'deploy' as const, teardown: { ...teardownOrder, lacks } };
  expect(inWords(decideNode(nodeCase(facts, { order })))).toMatchObject({
    outcome: { state: 'working', doing: `waiting before asking whether it is in service: ${lacks}` },
  });
});

test('one that is back in service stays done beside somebody’s flow, and in rescue', () => {
  const facts = factsOf('active', 'deployed by the site', { rest });
  const flow = observedFlow({ kind: 'service', actionId: null, requestedBy: 'ada' });
  expect(nameDecision(nodeCase({ ...facts, flow }, { phase: 'deploy' }))).toBe('done');
  expect(nameDecision(nodeCase(factsOf('rescue', 'deployed by the site', { rest }), { phase: 'deploy' }))).toBe('done');
});
