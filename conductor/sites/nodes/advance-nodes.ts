import { isDeepStrictEqual } from 'node:util';
import type { RequestedStep } from '#conductor/model/flows/planned-step.ts';
import { newRemark } from '#conductor/model/remarks/remark-words.ts';
import type { NodeOutcome } from '#conductor/model/site/site-run.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import { actInTurn, actOnNode, type BeatWork, type NodeTask, shuffle } from '#conductor/sites/nodes/act-on-node.ts';
import { designHash } from '#conductor/sites/nodes/compare-node.ts';
import { decideNode } from '#conductor/sites/nodes/decide-node.ts';
import { isBusy, type NodeDecision, type NodeFacts } from '#conductor/sites/nodes/node-decision.ts';
import { aboutNode, type NodeOrder, type SiteWork } from '#conductor/sites/nodes/node-order.ts';
import { type ReadNode, readFacts } from '#conductor/sites/nodes/read-facts.ts';
import { readCancelled, readObserved } from '#conductor/sites/nodes/read-observed.ts';
import { readPluginSteps } from '#conductor/sites/plugins/plugin-steps.ts';
import { errorChain, errorCode, isRetryable } from '#shared/errors/app-error.ts';

/** So many requests at once: more would only wait for the database. */
const atOnce = 16;
/**
 * Time for nodes that no flow works on; those that have not had their turn within it come with the next beat, so that
 * nobody waits long to see what has ended. Where a look at the others takes long, they get several times as much.
 */
const budgetMs = { least: 1_000, most: 4_000, perLook: 9 } as const;
/** Nodes that are read together: all that wait of ten thousand would take longer to read than there is time to act on. */
const nodesPerPart = 128;

/** Course of one beat. */
export interface Turn {
  /** Milliseconds that requests took; all other time went into looking. */
  readonly actedMs: number;
  /** Some nodes have not had their turn. */
  readonly isBehind: boolean;
}

/**
 * One beat for all nodes that an action has at work: what each is now and what it needs next, done as far as that goes
 * at once. All that it knows is in the database, so that it may be called by any conductor, at any time, again.
 * @returns one outcome for each order that has had its turn; `done` and `failed` are final for this phase
 * @throws AppError `database_error`, `lease_lost` when the action has ended or is another conductor's
 */
export async function advanceNodes(
  context: SitesContext,
  {
    orders,
    onTurn,
    mayTakeMs: given,
    ...work
  }: SiteWork & {
    readonly orders: readonly NodeOrder[];
    readonly onTurn?: (turn: Turn) => void;
    /** Milliseconds for nodes that no flow works on, of which one part has its turn in any case; default: by the look. */
    readonly mayTakeMs?: number;
  },
): Promise<ReadonlyMap<string, NodeOutcome>> {
  if (orders.length === 0) return new Map();
  const { action, site } = work;
  const lookingAt = performance.now();
  const names = orders.map(({ node }) => node.name);
  const cancelled = orders.flatMap(({ node, cancel }) => (cancel === undefined ? [] : node.name));
  const since = await readCancelled(context.db, action.id, cancelled);
  const observed = await readObserved(context.db, names);
  const beat = createBeat(context, { ...work, pluginSteps: pluginStepsByTags(context, site) }, since);
  const isAtWork = ({ node }: NodeOrder): boolean => isBusy(observed.get(node.name) ?? {}, action.id);
  const atWork = orders.filter(isAtWork);
  const begunAt = performance.now();
  const mayTakeMs =
    given ?? Math.min(budgetMs.most, Math.max(budgetMs.least, budgetMs.perLook * (begunAt - lookingAt)));
  const leftMs = (): number => Math.max(0, begunAt + mayTakeMs - performance.now());
  const seen = ({ node }: NodeOrder): ReadNode => ({ facts: observed.get(node.name) ?? {}, design: undefined });
  await beat.takeTurn(atWork, new Map(atWork.map((order) => [order.node.name, seen(order)])), leftMs());
  const idle = shuffle(orders.filter((order) => !isAtWork(order)));
  let done = 0;
  for (; done < idle.length && (done === 0 || leftMs() > 0); done += nodesPerPart) {
    const part = idle.slice(done, done + nodesPerPart);
    await beat.takeTurn(part, await readFacts(context, work, part), leftMs());
  }
  const { actedMs, isBehind } = beat.turn();
  onTurn?.({ actedMs, isBehind: isBehind || done < idle.length });
  return beat.outcomes;
}

interface Beat {
  /** Decides about nodes, and does what is to be done within that time. */
  takeTurn(orders: readonly NodeOrder[], read: ReadonlyMap<string, ReadNode>, mayTakeMs: number): Promise<void>;
  turn(): Turn;
  readonly outcomes: ReadonlyMap<string, NodeOutcome>;
}

/** @param since how long each node has been broken off, in milliseconds */
function createBeat(context: SitesContext, work: BeatWork, since: ReadonlyMap<string, number>): Beat {
  const { action, site } = work;
  const outcomes = new Map<string, NodeOutcome>();
  const turn = { actedMs: 0, isBehind: false };
  return {
    takeTurn: async (orders, read, mayTakeMs) => {
      const tasks: Task[] = [];
      const note = (name: string, outcome: NodeOutcome): void =>
        void outcomes.set(name, aboutNode(outcome, { name, uuid: read.get(name)?.facts.node?.uuid }));
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
        if (decision.kind === 'outcome') note(name, decision.outcome);
        else {
          note(name, { state: 'working', doing: decision.doing });
          tasks.push({ task: { order, facts, design }, decision });
        }
      }
      const actingAt = performance.now();
      const options = { atOnce, budgetMs: mayTakeMs };
      const results = await actInTurn(tasks, (each) => actOnce(context, work, each), options);
      turn.actedMs += performance.now() - actingAt;
      turn.isBehind ||= results.size < tasks.length;
      for (const [{ task }, outcome] of results) note(task.order.node.name, outcome);
    },
    turn: () => turn,
    outcomes,
  };
}

/** Act of a beat on one node. */
interface Task {
  readonly task: NodeTask;
  readonly decision: Extract<NodeDecision, { kind: 'act' }>;
}

/** A request that is refused because somebody was faster has come to nothing; any other refusal is the node's failure. */
async function actOnce(context: SitesContext, work: BeatWork, { task, decision }: Task): Promise<NodeOutcome> {
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
