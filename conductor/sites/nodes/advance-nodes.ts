import { isDeepStrictEqual } from 'node:util';
import type { RequestedStep } from '#conductor/model/planned-step.ts';
import { newRemark } from '#conductor/model/remark-words.ts';
import type { NodeOutcome } from '#conductor/model/site/site-run.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { actInTurn, actOnNode, type BeatWork, type NodeTask } from '#conductor/sites/nodes/act-on-node.ts';
import { designHash } from '#conductor/sites/nodes/compare-node.ts';
import { decideNode } from '#conductor/sites/nodes/decide-node.ts';
import { isBusy, type NodeDecision, type NodeFacts } from '#conductor/sites/nodes/node-decision.ts';
import { aboutNode, type NodeOrder, type SiteWork } from '#conductor/sites/nodes/node-order.ts';
import { readFacts } from '#conductor/sites/nodes/read-facts.ts';
import { readCancelled } from '#conductor/sites/nodes/read-observed.ts';
import { readPluginSteps } from '#conductor/sites/plugins/plugin-steps.ts';
import { errorChain, errorCode, isRetryable } from '#shared/errors/app-error.ts';

/** So many requests at once: more would only wait for the database. */
const atOnce = 16;
/**
 * Time of a beat; nodes that have not begun within it come with the next, so that nobody waits long to see what has
 * ended.
 */
const budgetMs = 1000;

/**
 * One beat for all nodes that an action has at work: what each is now and what it needs next, done as far as that goes
 * at once. All that it knows is in the database, so that it may be called by any conductor, at any time, again.
 * @returns one outcome for each order; `done` and `failed` are final for this phase
 * @throws AppError `database_error`, `lease_lost` when the action has ended or is another conductor's
 */
export async function advanceNodes(
  context: SitesContext,
  {
    orders,
    onActed,
    ...work
  }: SiteWork & {
    readonly orders: readonly NodeOrder[];
    /** Called with how long requests took, in milliseconds; all other time went into looking. */
    readonly onActed?: (ms: number) => void;
  },
): Promise<ReadonlyMap<string, NodeOutcome>> {
  if (orders.length === 0) return new Map();
  const { action, site } = work;
  const cancelled = orders.flatMap(({ node, cancel }) => (cancel === undefined ? [] : node.name));
  const since = await readCancelled(context.db, action.id, cancelled);
  const read = await readFacts(context, work, orders);
  const outcomes = new Map<string, NodeOutcome>();
  const tasks: { readonly task: NodeTask; readonly decision: Extract<NodeDecision, { kind: 'act' }> }[] = [];
  for (const order of orders) {
    const { name } = order.node;
    const { facts = {}, design } = read.get(name) ?? {};
    const decision = decideNode({
      order,
      facts,
      actionId: action.id,
      designHash: () => designHash(site, order.node),
      cancelledMs: since.get(name),
    });
    if (decision.kind === 'outcome') outcomes.set(name, decision.outcome);
    else {
      outcomes.set(name, { state: 'working', doing: decision.doing });
      tasks.push({ task: { order, facts, design }, decision });
    }
  }
  const beat: BeatWork = { ...work, pluginSteps: pluginStepsByTags(context, site) };
  const actingAt = performance.now();
  const results = await actInTurn(tasks, (each) => actOnce(context, beat, each), { atOnce, budgetMs });
  onActed?.(performance.now() - actingAt);
  for (const [{ task }, outcome] of results) outcomes.set(task.order.node.name, outcome);
  return new Map(
    [...outcomes].map(([name, outcome]) => [
      name,
      aboutNode(outcome, { name, uuid: read.get(name)?.facts.node?.uuid }),
    ]),
  );
}

/** A request that is refused because somebody was faster has come to nothing; any other refusal is the node's failure. */
async function actOnce(
  context: SitesContext,
  work: BeatWork,
  { task, decision }: { readonly task: NodeTask; readonly decision: Extract<NodeDecision, { kind: 'act' }> },
): Promise<NodeOutcome> {
  const { doing, act, ends } = decision;
  try {
    await actOnNode(context, work, task, act);
    return ends ?? { state: 'working', doing };
  } catch (error) {
    // the second: anyone who has the action now does it
    if (errorCode(error) === 'database_error' || errorCode(error) === 'lease_lost') throw error;
    const reason = errorChain(error);
    if (isRetryable(error)) return { state: 'working', doing: newRemark('trying-again', { doing, error: reason }) };
    const read = await readFacts(context, work, [task.order]);
    const now = read.get(task.order.node.name)?.facts ?? {};
    // what this action has begun is never left alone, whatever was refused
    const goesOn = isBusy(now, work.action.id);
    if (goesOn || hasMoved(task.facts, now)) return { state: 'working', doing };
    context.log.error({ node: task.order.node.name, action: work.action.id, err: error }, `${act.kind} failed`);
    return { state: 'failed', error: newRemark('refused', { doing, error: reason }) };
  }
}

/** Whether somebody else has done something about the node since. */
function hasMoved(before: NodeFacts, now: NodeFacts): boolean {
  const comparable = ({ node, flow, allocation, deployed, rest }: NodeFacts) => [
    node?.uuid,
    node?.provisionState,
    node?.provisionUpdatedAt,
    node?.maintenance,
    node?.instanceUuid,
    flow?.uuid,
    flow?.state,
    flow?.abortRequested,
    allocation?.uuid,
    allocation?.state,
    deployed,
    rest?.differs,
  ];
  return !isDeepStrictEqual(comparable(before), comparable(now));
}

/** Nodes of a kind have the same tags: what their plugins run is put in order once. */
function pluginStepsByTags(
  { db }: Pick<SitesContext, 'db'>,
  { plugins }: Pick<SiteWork['site'], 'plugins'>,
): BeatWork['pluginSteps'] {
  const known = new Map<string, Promise<RequestedStep[]>>();
  return (tags) => {
    const key = JSON.stringify([...tags].sort());
    const steps = known.get(key) ?? readPluginSteps(db, plugins, tags);
    known.set(key, steps);
    return steps;
  };
}
