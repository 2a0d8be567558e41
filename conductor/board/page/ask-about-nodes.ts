import type { PlanView } from '#conductor/api/flows.ts';
import { get, send } from '#conductor/board/data/ask-api.ts';
import { type Choices, type Prepared, type Question, reasonOf } from '#conductor/board/page/ask-first.ts';
import type { FleetAction } from '#conductor/board/render/board-actions.ts';
import { html } from '#conductor/board/render/html.ts';
import { type ReadPlan, renderComparison } from '#conductor/board/render/node/compare-plans.ts';
import { type NodePlan, renderPlans } from '#conductor/board/render/node/render-plans.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** More are not asked for at once: plans and requests are one a node. */
const mostNodes = 500;
const atOnce = 8;

/** Composes the question that is asked before an action on one node or many. */
export function questionAbout(action: FleetAction): Question {
  const { title, meaning, nodes, plan, note, fields, isCounted = false } = action;
  const [first] = nodes;
  const whom = nodes.length === 1 ? (first?.node.name ?? first?.node.uuid) : `${nodes.length} nodes`;
  const about = { title: `${title}: ${whom}`, meaning };
  return {
    ...about,
    ...(plan ? { asking: 'Asking what would be destroyed…' } : {}),
    prepare: () => {
      if (nodes.length > mostNodes) throw new Error(`At most ${mostNodes} nodes at once: narrow the filter.`);
      if (plan && nodes.length === 1 && plan.isBinding) return prepareOne(action, about);
      if (plan) return preparePlans(action, plan);
      const sending = nodes.map(({ node, request }) => ({ name: node.name ?? node.uuid, request }));
      return {
        sending,
        isCounted: isCounted && sending.length > 1,
        ...(note ? { note } : {}),
        ...(fields ? { fields } : {}),
      };
    },
  };
}

/** `Deploy: 12`, of each action those nodes that it can be done to. */
export function choicesOf(actions: Readonly<Record<string, FleetAction>>): Choices {
  return Object.values(actions).map((action) => [`${action.title}: ${action.nodes.length}`, questionAbout(action)]);
}

/** @param former the plan that was refused; what has changed stands before the new one */
async function prepareOne(
  action: Pick<FleetAction, 'nodes' | 'plan'>,
  about: Pick<Question, 'title' | 'meaning'>,
  former?: ReadPlan,
): Promise<Prepared> {
  const { plan } = action;
  const [first] = action.nodes;
  if (!plan || !first) return { sending: [] };
  const { node } = first;
  const given = await get<Record<string, unknown>>(
    `v1/nodes/${node.uuid}?fields=instance_info,properties,target_raid_config`,
  ).catch(() => ({})); // the plan says why it can't be
  const { links: _, ...fields } = given as { links?: unknown };
  const prepared = await preparePlans(action, plan);
  const [known] = prepared.plans;
  if (!known) return prepared;
  const read = { plan: known, given: fields };
  return {
    ...prepared,
    html: html`${former && renderComparison(former, read)}${prepared.html}`,
    onConflict: async () => {
      const { plan: current } = await planOf(node, plan.target);
      if (!current || current.hash === known.hash) return undefined;
      return { ...about, prepare: () => prepareOne(action, about, read) };
    },
  };
}

async function preparePlans(
  { nodes }: Pick<FleetAction, 'nodes'>,
  plan: NonNullable<FleetAction['plan']>,
): Promise<PreparedPlans> {
  const plans = await inParallel(nodes, ({ node }) => planOf(node, plan.target), { atOnce });
  return composePlans(nodes, plan, plans);
}

type PreparedPlans = Prepared & { readonly plans: readonly PlanView[] };

/**
 * Composes what is read and sent, of each node's plan. A request is bound to a complete plan alone: conductors refuse the
 * hash of any other, with which a node whose ramdisk never came up could not be deployed at all. Pure.
 */
export function composePlans(
  nodes: FleetAction['nodes'],
  { isBinding }: Pick<NonNullable<FleetAction['plan']>, 'isBinding'>,
  plans: readonly NodePlan[],
): PreparedPlans {
  const sending = nodes.flatMap(({ node, request }, index) => {
    const known = plans[index]?.plan;
    if (!known) return [];
    const body = { ...(request.body as object), ...(isBinding && known.complete ? { plan_hash: known.hash } : {}) };
    return [{ name: node.name ?? node.uuid, request: { ...request, body } }];
  });
  // of a plan that is not complete nobody knows what is lost
  const isLoss = plans.some(({ plan }) => plan && (plan.destroys.length > 0 || !plan.complete));
  return {
    html: renderPlans(plans),
    sending,
    isCounted: sending.length > 1 && isLoss,
    plans: plans.flatMap(({ plan }) => plan ?? []),
  };
}

/** Reads what would be done with a node, or why that would be refused. */
export async function planOf(node: NodePlan['node'], target: string): Promise<NodePlan> {
  try {
    const answer = await send({ method: 'POST', path: `v1/nodes/${node.uuid}/plan`, body: { target } });
    const plan = (await answer.json()) as PlanView;
    if (plan.refused) return { node, plan: undefined, refusal: plan.refused.message };
    return { node, plan, refusal: undefined };
  } catch (error) {
    return { node, plan: undefined, refusal: reasonOf(error) };
  }
}
