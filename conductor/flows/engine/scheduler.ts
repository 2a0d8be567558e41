import { and } from 'drizzle-orm';
import type { EngineContext } from '#conductor/flows/context.ts';
import { attendedNodes, workOnNode } from '#conductor/flows/engine/node-worker.ts';
import { createTurns, type NudgeOrigin, youngMs } from '#conductor/flows/engine/work-queue.ts';
import { listDueNodes } from '#conductor/flows/log/flow-store.ts';
import { isConnectionLost } from '#conductor/kernel/db/faults.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { hasTarget, nodes } from '#conductor/kernel/db/schema/node.ts';
import { countDatabaseFault } from '#conductor/kernel/metrics/metrics.ts';
import { attendedBy } from '#conductor/nodes/node-lease.ts';
import { systemClock } from '#shared/clock.ts';
import { backOffMs, retry } from '#shared/retry.ts';

/**
 * Decides when nodes are worked on: at once when nudged, and by re-reading the database every period, so that a lost
 * nudge costs one period and never correctness. One piece of work per node at a time, a bounded number in all.
 */
export interface Scheduler {
  /** Something about the node has changed. */
  nudge(nodeUuid: string, origin: NudgeOrigin): void;
  /** The node is nobody's any more: this conductor and all others look. */
  passOn(nodeUuid: string): void;
  /** One look at the database for work that is due. */
  reconcile(): Promise<void>;
  /** Starts nothing more, waits until what runs has let go, and leaves the rest to others. */
  stop(): Promise<void>;
}

export interface SchedulerOptions {
  readonly context: EngineContext;
  /** Whatever holds the node is to look again. */
  readonly notifyOthers: (nodeUuid: string) => void;
}

export function createScheduler({ context, notifyOthers }: SchedulerOptions): Scheduler {
  const stopping = new AbortController();
  /** Nodes at work since then; `again` = nudged meanwhile, look once more afterwards. */
  const busy = new Map<string, { again: boolean; readonly since: number; look?: (() => void) | undefined }>();
  const begins = (nodeUuid: string): ((look: (() => void) | undefined) => void) => {
    const atWork = { again: false, since: performance.now() };
    busy.set(nodeUuid, atWork);
    return (look) => Object.assign(atWork, { look });
  };
  const running = new Set<Promise<void>>();
  /** Nodes whose flows need a conductor of another release, and until when they are left to it. */
  const unknown = new Map<string, number>();
  const isLeft = (nodeUuid: string): boolean => (unknown.get(nodeUuid) ?? 0) > performance.now();

  const work = async (nodeUuid: string, origin: NudgeOrigin): Promise<void> => {
    try {
      do {
        const onHeld = begins(nodeUuid);
        const done = await workWhileReachable(context, nodeUuid, { stop: stopping.signal, onHeld });
        if (done === 'left to others' && origin !== 'another conductor') notifyOthers(nodeUuid);
        if (done === 'not known here') {
          // longer than others take to look by themselves, should the nudge be lost
          unknown.set(nodeUuid, performance.now() + 2 * context.config.reconcileIntervalMs);
          notifyOthers(nodeUuid);
        } else unknown.delete(nodeUuid);
      } while (busy.get(nodeUuid)?.again && !stopping.signal.aborted);
    } catch (error) {
      countDatabaseFault(context.metrics, error);
      context.log.error({ node: nodeUuid, err: error }, 'work on node failed; it is tried again next period');
    } finally {
      busy.delete(nodeUuid);
      // what was broken off need not wait for anybody's next look
      if (stopping.signal.aborted) notifyOthers(nodeUuid);
    }
  };
  const turns = createTurns({
    clock: systemClock,
    hasRoom: () => !stopping.signal.aborted && busy.size < context.config.maxActiveNodes,
    youngAtWork: () => {
      const youngSince = performance.now() - youngMs;
      return [...busy.values()].filter(({ since }) => since > youngSince).length;
    },
    begin: (nodeUuid, origin) => {
      const job: Promise<void> = work(nodeUuid, origin).finally(() => {
        running.delete(job);
        turns.next();
      });
      running.add(job);
    },
  });
  const nudge: Scheduler['nudge'] = (nodeUuid, origin) => {
    if (stopping.signal.aborted) {
      if (origin !== 'another conductor') notifyOthers(nodeUuid);
      return;
    }
    if (origin === 'another conductor' && isLeft(nodeUuid)) return;
    const atWork = busy.get(nodeUuid);
    if (atWork) {
      atWork.again = true;
      // an agent's word ends no call
      if (origin !== 'agent') atWork.look?.();
    } else turns.take(nodeUuid, origin);
  };
  return {
    nudge,
    passOn: (nodeUuid) => {
      notifyOthers(nodeUuid);
      nudge(nodeUuid, 'another conductor');
    },
    reconcile: async () => {
      const { db, config } = context;
      const worker = attendedNodes(context);
      const due = await listDueNodes(db, { ...worker, limit: config.maxActiveNodes });
      const asked = await selectAsked(db, worker);
      for (const nodeUuid of [...due, ...asked.map((row) => row.uuid)]) {
        if (!busy.has(nodeUuid) && !isLeft(nodeUuid)) turns.take(nodeUuid, 'another conductor');
      }
    },
    stop: async () => {
      stopping.abort(new Error('the conductor is stopping'));
      turns.close();
      await Promise.all(running);
    },
  };
}

/** Selects nodes of which an operator has asked something other than a flow. */
export function selectAsked(db: Queryable, worker: Parameters<typeof attendedBy>[0]) {
  return db
    .select({ uuid: nodes.uuid })
    .from(nodes)
    .where(and(hasTarget(nodes), attendedBy(worker)));
}

/**
 * Does work, and again at once when a connection was cut; while there is none at all, the next look at the database is soon
 * enough.
 */
function workWhileReachable(
  context: EngineContext,
  nodeUuid: string,
  { stop, onHeld }: { readonly stop: AbortSignal; readonly onHeld: NonNullable<Parameters<typeof workOnNode>[3]> },
) {
  return retry(() => workOnNode(context, nodeUuid, stop, onHeld), {
    signal: stop,
    withinMs: context.config.reconcileIntervalMs,
    passes: isConnectionLost,
    delayMs: (attempt) => backOffMs({ firstMs: 50, spread: [0.5, 1] }, attempt),
    onRetry: (error) => {
      countDatabaseFault(context.metrics, error);
      context.log.warn({ node: nodeUuid, err: error }, 'work on node broken off; it is tried again');
    },
  });
}
