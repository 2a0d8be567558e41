import type { PlanView } from '#conductor/api/flows.ts';
import { send } from '#conductor/board/ask-api.ts';
import { type Choices, type Prepared, type Question, reasonOf } from '#conductor/board/ask-first.ts';
import type { FleetAction } from '#conductor/board/board-actions.ts';
import { type NodePlan, renderPlans } from '#conductor/board/render-plans.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** More are not asked for at once: plans and requests are one a node. */
const mostNodes = 500;
const atOnce = 8;

/** What is asked before an action on one node or many. */
export function questionAbout(action: FleetAction): Question {
  const { title, meaning, nodes, plan } = action;
  const [first] = nodes;
  const whom = nodes.length === 1 ? (first?.node.name ?? first?.node.uuid) : `${nodes.length} nodes`;
  return {
    title: `${title}: ${whom}`,
    meaning,
    ...(plan ? { asking: 'Asking what would be destroyed…' } : {}),
    prepare: () => {
      if (nodes.length > mostNodes) throw new Error(`At most ${mostNodes} nodes at once: narrow the filter.`);
      if (plan) return preparePlans(action, plan);
      return { sending: nodes.map(({ node, request }) => ({ name: node.name ?? node.uuid, request })) };
    },
  };
}

/** `Deploy: 12`, of each action those nodes that it can be done to. */
export function choicesOf(actions: Readonly<Record<string, FleetAction>>): Choices {
  return Object.values(actions).map((action) => [`${action.title}: ${action.nodes.length}`, questionAbout(action)]);
}

async function preparePlans(
  { nodes }: Pick<FleetAction, 'nodes'>,
  { target, isBinding }: NonNullable<FleetAction['plan']>,
): Promise<Prepared> {
  const plans = await inParallel(nodes, ({ node }) => planOf(node, target), { atOnce });
  const sending = nodes.flatMap(({ node, request }, index) => {
    const known = plans[index]?.plan;
    if (!known) return [];
    const body = { ...(request.body as object), ...(isBinding ? { plan_hash: known.hash } : {}) };
    return [{ name: node.name ?? node.uuid, request: { ...request, body } }];
  });
  const isLoss = plans.some(({ plan }) => (plan?.destroys.length ?? 0) > 0);
  return { html: renderPlans(plans), sending, isCounted: sending.length > 1 && isLoss };
}

async function planOf(node: NodePlan['node'], target: string): Promise<NodePlan> {
  try {
    const answer = await send({ method: 'POST', path: `v1/nodes/${node.uuid}/plan`, body: { target } });
    return { node, plan: (await answer.json()) as PlanView, refusal: undefined };
  } catch (error) {
    return { node, plan: undefined, refusal: reasonOf(error) };
  }
}
