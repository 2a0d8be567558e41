import { isNotNull } from 'drizzle-orm';
import { workOnNode } from '#conductor/background/node-worker.ts';
import type { ConductorContext } from '#conductor/context.ts';
import { nodes } from '#conductor/db/schema/node.ts';
import { listDueNodes } from '#conductor/flows/flow-store.ts';

/**
 * Decides when nodes are worked on: at once when nudged, and by re-reading the database every period, so that a lost
 * nudge costs one period and never correctness. One piece of work per node at a time, a bounded number in all.
 */
export interface Scheduler {
  nudge(nodeUuid: string): void;
  /** One look at the database for work that is due. */
  reconcile(): Promise<void>;
  /** Starts nothing more and waits until what runs has let go. */
  stop(): Promise<void>;
}

export function createScheduler(context: () => ConductorContext): Scheduler {
  const stopping = new AbortController();
  /** Nodes at work; `true` = nudged meanwhile, look again afterwards. */
  const busy = new Map<string, boolean>();
  const queued = new Set<string>();
  const running = new Set<Promise<void>>();

  const work = async (nodeUuid: string): Promise<void> => {
    try {
      do {
        busy.set(nodeUuid, false);
        await workOnNode(context(), nodeUuid, stopping.signal);
      } while (busy.get(nodeUuid) === true && !stopping.signal.aborted);
    } catch (error) {
      context().log.error({ node: nodeUuid, err: error }, 'work on node failed; it is tried again next period');
    } finally {
      busy.delete(nodeUuid);
    }
  };
  const startQueued = (): void => {
    for (const nodeUuid of queued) {
      if (stopping.signal.aborted || busy.size >= context().config.maxActiveNodes) return;
      queued.delete(nodeUuid);
      busy.set(nodeUuid, false);
      const job: Promise<void> = work(nodeUuid).finally(() => {
        running.delete(job);
        startQueued();
      });
      running.add(job);
    }
  };
  const nudge = (nodeUuid: string): void => {
    if (busy.has(nodeUuid)) busy.set(nodeUuid, true);
    else {
      queued.add(nodeUuid);
      startQueued();
    }
  };
  return {
    nudge,
    reconcile: async () => {
      const { db, config } = context();
      const due = await listDueNodes(db, config.maxActiveNodes);
      const powered = await db.select({ uuid: nodes.uuid }).from(nodes).where(isNotNull(nodes.targetPowerState));
      for (const nodeUuid of [...due, ...powered.map((row) => row.uuid)]) if (!busy.has(nodeUuid)) nudge(nodeUuid);
    },
    stop: async () => {
      stopping.abort(new Error('the conductor is stopping'));
      queued.clear();
      await Promise.all(running);
    },
  };
}
