import { isDeepStrictEqual } from 'node:util';
import { readClaimed } from '#conductor/flows/site-actions/action-lease.ts';
import type { ActionControl } from '#conductor/flows/site-actions/action-store.ts';
import { loadRun, recordDoing, recordRun } from '#conductor/flows/site-actions/run-store.ts';
import { heldByRestore, requestOf } from '#conductor/model/flows/flow-states.ts';
import { progressKey, type Remark } from '#conductor/model/remarks/remark.ts';
import { describeRemark } from '#conductor/model/remarks/remark-words.ts';
import { detectStall, type Stall } from '#conductor/model/site/detect-stall.ts';
import { watchedCanaries } from '#conductor/model/site/rollout.ts';
import { reportSite } from '#conductor/model/site/site-report.ts';
import type { NodeOutcome, SiteRun } from '#conductor/model/site/site-run.ts';
import { addNotes, type Note, noteDecisions, noteOutcomes } from '#conductor/sites/actions/action-notes.ts';
import {
  type ActionWork,
  followHold,
  isFollowed,
  readTeardownOrder,
  type StepEnd,
  writeUnderLease,
} from '#conductor/sites/actions/action-work.ts';
import { pauseByItself } from '#conductor/sites/actions/control-action.ts';
import {
  pauseIn,
  prolongPhases,
  type Settled,
  settleRun,
  stopReason,
  workingNodes,
} from '#conductor/sites/actions/settle-run.ts';
import { openGates } from '#conductor/sites/gates/open-gates.ts';
import type { GateWatch } from '#conductor/sites/gates/watch-gates.ts';
import type { Turn } from '#conductor/sites/nodes/advance-nodes.ts';
import type { NodeOrder, TeardownOrder } from '#conductor/sites/nodes/node-order.ts';
import { serviceSeconds } from '#conductor/sites/nodes/request-cluster-flow.ts';
import type { Site } from '#conductor/sites/site.ts';
import { applyOutcomes } from '#conductor/sites/strategy/apply-decisions.ts';
import { gatesToAsk } from '#conductor/sites/strategy/rollout/look-at-gates.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The interval of writing what nodes are doing: it is for people, who do not read faster; with whatever else is written
 * it goes too.
 */
const doingEveryMs = 2_000;
/** An operator's stop waits no longer than this, and a look at however many nodes. */
const restMs = { shortest: 50, longest: 5_000 } as const;
/** To look at many nodes takes the processor from their flows: for some times as long, if not too long, there is no other. */
const lookRatio = 9;
const actRatio = 1 / 4;

/**
 * Between two beats while nodes move, in milliseconds: looks take a tenth of the time, as long as one takes no more than
 * half a second, which is that of thousands of nodes. While nodes wait for their turn, a beat rests no longer than it has
 * looked: flows that have not begun need no processor. Pure.
 * @param actedMs of the beat; the rest of it has looked, and recorded what it saw
 */
export function restAfter({ tookMs, actedMs, isBehind = false }: { readonly tookMs: number } & Partial<Turn>): number {
  const acted = actedMs ?? 0;
  const lookedMs = tookMs - acted;
  const rest = Math.max(restMs.shortest, isBehind ? lookedMs : lookRatio * lookedMs - acted, actRatio * acted);
  return Math.min(rest, restMs.longest);
}

/** State that is kept in memory between two beats, while the lease is held. */
interface BeatState {
  /** The run as it is recorded. */
  readonly run: SiteRun;
  /** Work of the nodes that are at work, as it was recorded last. */
  readonly doing: ReadonlyMap<string, Remark>;
  readonly doingRecordedAt: number;
  /** The same as of the last beat. */
  readonly seen: ReadonlyMap<string, Remark>;
  readonly stalls: ReadonlyMap<string, Stall>;
}

/**
 * Group by group, prepare and deploy (seed 000, "Process"). What is decided is recorded before it is begun, and what has
 * become of it after; all that is known stands in the database, so that any conductor goes on where another one was.
 */
export async function baremetalNodes(work: ActionWork): Promise<StepEnd> {
  const { context, action } = work;
  const site = withServiceTime(await work.site(), context.config);
  const teardown = await readTeardownOrder(work);
  const run = await loadRun(context.db, action.id, teardown ? 1 : site.strategy.max_parallel_groups);
  if (!run) throw new AppError('internal', `site action ${action.id} has no groups`);
  const gates = openGates({
    rules: context.config.outbound.health,
    ask: work.operations.askGate,
    now: work.now,
    changed: () => work.bell.ring(),
  });
  try {
    return await beatOn(work, { site, teardown, gates }, run);
  } finally {
    await gates.stop();
  }
}

/** Parts that all beats of an action have in common. */
interface BeatParts {
  readonly site: Site;
  readonly teardown: TeardownOrder | undefined;
  readonly gates: GateWatch;
}

async function beatOn(work: ActionWork, parts: BeatParts, run: SiteRun): Promise<StepEnd> {
  const { context, bell, signal } = work;
  const { siteBeatMs } = context.config;
  let state: BeatState = { run, doing: new Map(), doingRecordedAt: 0, seen: new Map(), stalls: new Map() };
  for (;;) {
    const begunAt = performance.now();
    const turn = { actedMs: 0, isBehind: false };
    const beat = await beatOnce(noteTurn(work, turn), parts, state);
    if (beat.isOver) return endOf(beat.state.run, beat.isStopped);
    ({ state } = beat);
    const tookMs = performance.now() - begunAt;
    context.metrics.siteBeatSeconds.observe(tookMs / 1000);
    const pauseMs = restAfter({ tookMs, ...turn });
    if (beat.hasBegun) continue;
    await context.clock.sleep(pauseMs, signal);
    if (!beat.hasMoved && !turn.isBehind && pauseMs < siteBeatMs) await bell.rest(siteBeatMs - pauseMs, signal);
  }
}

/** Gives groups whose nodes are waited for the time for it. */
export function withServiceTime(
  site: Site,
  { kubeconfigFile }: Pick<ActionWork['context']['config'], 'kubeconfigFile'>,
): Site {
  const isWaited = kubeconfigFile !== undefined || [...site.nodes.values()].some(({ inService }) => inService);
  return isWaited ? { ...site, timeouts: { ...site.timeouts, service: serviceSeconds(site.settings) } } : site;
}

function noteTurn(work: ActionWork, noted: Turn): ActionWork {
  const { operations } = work;
  const onTurn = (turn: Turn): void => void Object.assign(noted, turn);
  return {
    ...work,
    operations: {
      ...operations,
      advanceNodes: (context, given) => operations.advanceNodes(context, { ...given, onTurn }),
    },
  };
}

function endOf(run: SiteRun, isStopped: boolean): StepEnd {
  if (isStopped) return { event: 'failed', error: stopReason };
  const { failedCritical } = reportSite(run);
  if (failedCritical.length === 0) return { event: 'succeeded' };
  return { event: 'failed', error: `critical groups failed: ${failedCritical.join(', ')}` };
}

interface Beat {
  readonly state: BeatState;
  readonly hasBegun: boolean;
  /** A node does something else than at the last beat: its next move may be due at once. */
  readonly hasMoved: boolean;
  readonly isOver: boolean;
  readonly isStopped: boolean;
}

/** Looks after all nodes at work, records what became of them and what follows from it. */
async function beatOnce(work: ActionWork, { site, teardown, gates }: BeatParts, state: BeatState): Promise<Beat> {
  const { context, lease, action, operations } = work;
  const control = await readClaimed(context.db, lease);
  const request = requestOf(control);
  // a stop, too, which is recorded at the end of this beat: who pauses at the wrong node, and then stops, has it kept
  // after a restore a node that a person has released is not gone on with by that alone
  const isLeft = request === 'hold' && control.held === heldByRestore;
  const orders = isLeft ? [] : ordersOf(state.run, site, { teardown, paused: request !== 'run' });
  const outcomes: ReadonlyMap<string, NodeOutcome> =
    orders.length === 0 ? new Map() : await operations.advanceNodes(context, { action, site, orders });
  context.checkpoint('acted');
  const after = applyOutcomes(state.run, outcomes);
  const outOfService = await operations.findOutOfService(context.db, watchedCanaries(after.groups));
  const looks = gates.look(request === 'run' ? gatesToAsk(after, work.now()) : []);
  const settle = (run: SiteRun, wanted: ActionControl): Settled =>
    settleRun(run, {
      request: requestOf(wanted),
      now: work.now(),
      timeouts: site.timeouts,
      outOfService,
      looks,
      skips: wanted.skips,
    });
  const foreseen = settle(after, control);
  const doing = doingOf(outcomes, orders, state.seen);
  const changes = [...doing].filter(([name, remark]) => !isDeepStrictEqual(state.doing.get(name), remark));
  const isDoingDue = changes.length > 0 && work.now() - state.doingRecordedAt >= doingEveryMs;
  const isPaused = request === 'hold';
  const { next: stalls, due } = detectStall(state.stalls, isPaused ? new Map() : doing, work.now());
  const hasMoved = [...doing].some(([name, remark]) => isOther(state.seen.get(name), remark));
  if (foreseen.run === state.run && isFollowed(control) && !isDoingDue && due.length === 0) {
    const same = { ...state, seen: doing, stalls };
    return { state: same, hasBegun: false, hasMoved, isOver: foreseen.isOver, isStopped: request === 'abort' };
  }
  return writeUnderLease(work, async (tx, current) => {
    const asked = requestOf(current);
    const pausedMs = await followHold(work, tx, current);
    const resumed = prolongPhases(after, pausedMs);
    const hasChanged = pausedMs > 0 || asked !== request || current.skips !== control.skips;
    const settled = hasChanged ? settle(resumed, current) : foreseen;
    await recordRun(tx, action.id, state.run, settled.run);
    const pause = pauseIn(settled.decisions);
    if (pause) {
      await pauseByItself(tx, action, pause);
      // however soon it goes on, its gates are asked again
      gates.look([]);
    }
    if (isDoingDue) {
      await recordDoing(
        tx,
        action.id,
        changes.map(([name, remark]) => ({ name, doing: remark })),
      );
    }
    const ended = noteOutcomes(state.run, outcomes, teardown?.afterwards);
    const stalled = due.map(
      ([subject, remark]): Note => ({ step: 'baremetal_nodes', subject, verbosity: 1, text: describeRemark(remark) }),
    );
    const notes = [...ended, ...stalled, ...noteDecisions(settled.run, settled.decisions, teardown?.afterwards)];
    await addNotes(tx, action.id, notes);
    return {
      state: {
        run: settled.run,
        seen: doing,
        stalls,
        ...(isDoingDue
          ? { doing, doingRecordedAt: work.now() }
          : { doing: keepOf(state.doing, doing), doingRecordedAt: state.doingRecordedAt }),
      },
      hasBegun: settled.decisions.some(({ kind }) => kind === 'begin' || kind === 'cancel'),
      hasMoved,
      isOver: settled.isOver,
      isStopped: asked === 'abort',
    };
  });
}

function ordersOf(
  run: SiteRun,
  site: Site,
  { teardown, paused }: { readonly teardown: TeardownOrder | undefined; readonly paused: boolean },
): NodeOrder[] {
  return workingNodes(run).map(([name, { work }]) => {
    const node = site.nodes.get(name);
    if (!node) throw new AppError('internal', `node ${name} is at work and not in the action's documents`);
    const { phase, cancelling } = work;
    return {
      node,
      phase,
      ...(teardown ? { teardown } : {}),
      ...(paused ? { paused } : {}),
      ...(cancelling === undefined ? {} : { cancel: cancelling }),
    };
  });
}

/** Lists the work of nodes; those that have not had their turn do what they did. */
function doingOf(
  outcomes: ReadonlyMap<string, NodeOutcome>,
  orders: readonly NodeOrder[],
  before: ReadonlyMap<string, Remark>,
): Map<string, Remark> {
  return new Map(
    orders.flatMap(({ node: { name } }): [string, Remark][] => {
      const outcome = outcomes.get(name);
      const doing = outcome?.state === 'working' ? outcome.doing : outcome === undefined ? before.get(name) : undefined;
      return doing === undefined ? [] : [[name, doing]];
    }),
  );
}

/** Selects what is recorded of those that are at work still: with a new phase the row starts over. */
function keepOf(recorded: ReadonlyMap<string, Remark>, working: ReadonlyMap<string, Remark>): Map<string, Remark> {
  return new Map([...recorded].filter(([name]) => working.has(name)));
}

/** `cleaning: 40 %` goes on and on without anything new. */
function isOther(before: Remark | undefined, now: Remark): boolean {
  return before === undefined || progressKey(before) !== progressKey(now);
}
