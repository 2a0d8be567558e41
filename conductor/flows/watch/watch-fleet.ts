import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { describeState, listActions } from '#conductor/flows/site-actions/action-store.ts';
import { listFlows } from '#conductor/flows/watch/list-flows.ts';
import { dataOf, type KnownNodes, readNodes, type Subject } from '#conductor/flows/watch/read-changed-nodes.ts';
import type { KernelContext } from '#conductor/kernel/context.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';

export interface Change {
  readonly before: Subject | undefined;
  readonly now: Subject;
}

/** States of a read that began, and ended, at these times of the database, in ms. */
interface Reading {
  readonly began: number;
  readonly ended: number;
  readonly subjects: ReadonlyMap<string, Subject>;
  readonly nodes: KnownNodes;
  readonly tookMs: number;
  /** By this process's clock, in ms. */
  readonly at: number;
}

export interface FleetWatch {
  /**
   * Hears of what changes, until the answer's `stop`.
   * @param since when the caller's states were read, by any conductor on this database
   * @returns what has changed since then; `undefined` = this conductor does not know, or `since` is
   */
  start(since: number | undefined, onChanges: (changes: readonly Change[], readAt: number) => void): Promise<Watching>;
}

export interface Watching {
  readonly readAt: number;
  readonly missed: readonly Change[] | undefined;
  stop(): void;
}

/** Between reads: what an operator sees as "at once". */
const periodMs = 250;
/** Reading, which is the database's work, takes no more than a fifth of the time, however large the fleet is. */
const restPerRead = 4;
const keepGoneMs = 15 * 60_000;
const pageSize = 1000;
/** Older ones have ended. */
const shownActions = 20;

type WatchContext = Pick<KernelContext, 'db' | 'conductors' | 'log' | 'stopping'> & {
  readonly config: { conductorTimeoutMs: number };
};

/**
 * Compares one reading of nodes, flows and actions with the next, as long as somebody watches: what it shows is committed,
 * no matter who wrote it, and nothing is written for it.
 */
export function createFleetWatch(context: WatchContext): FleetWatch {
  const watchers = new Set<(changes: readonly Change[], readAt: number) => void>();
  const changed = new Map<string, { readonly change: Change; readonly at: number }>();
  const state = { last: undefined as Reading | undefined, knownSince: Infinity, ownersSince: 0 };
  let reading: Promise<Reading> | undefined; // what one wants to know, all do
  let isLooping = false;

  const compare = (next: Reading): readonly Change[] => {
    const former = state.last;
    state.last = next;
    if (!former) {
      state.knownSince = next.ended;
      return [];
    }
    const changes = changesBetween(former.subjects, next.subjects);
    for (const change of changes) {
      changed.set(change.now.uuid, { change, at: next.ended });
      if (hasMoved(change)) state.ownersSince = next.ended;
    }
    for (const [uuid, { at }] of changed) {
      if (at >= next.ended - keepGoneMs) continue;
      changed.delete(uuid);
      state.knownSince = Math.max(state.knownSince, at);
    }
    return changes;
  };
  const look = (): Promise<Reading> => {
    reading ??= readFleet(context, state.last)
      .then((next) => {
        const changes = compare(next);
        for (const onChanges of watchers) onChanges(changes, next.began);
        return next;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
  const loop = async (): Promise<void> => {
    if (isLooping) return;
    isLooping = true;
    while (watchers.size > 0 && !context.stopping.aborted) {
      const tookMs = await look().then(
        (read) => read.tookMs,
        (err: unknown) => {
          context.log.warn({ err }, 'the fleet could not be read; trying again');
          return 0;
        },
      );
      await new Promise((resolve) => setTimeout(resolve, restMs(tookMs)));
    }
    isLooping = false;
  };
  return {
    start: async (since, onChanges) => {
      const { last } = state;
      // a new watcher needs no reading of its own: the next one is compared with the last
      const { began, ended } = isLooping && last && isFresh(last) && (since ?? 0) <= last.ended ? last : await look();
      watchers.add(onChanges);
      void loop();
      const isKnown = since !== undefined && since >= Math.max(state.knownSince, state.ownersSince) && since <= ended;
      return {
        readAt: began,
        missed: isKnown ? [...changed.values()].filter(({ at }) => at > since).map(({ change }) => change) : undefined,
        stop: () => void watchers.delete(onChanges),
      };
    },
  };
}

const restMs = (tookMs: number): number => Math.max(periodMs, tookMs * restPerRead);

/** Checks whether the picture is at most two periods old; otherwise reading fails, and a new watcher must get the error. */
const isFresh = ({ at, tookMs }: Reading): boolean => performance.now() - at < 2 * (restMs(tookMs) + tookMs);

function hasMoved({ before, now }: Change): boolean {
  return before !== undefined && (before.owner !== now.owner || before.lessee !== now.lessee);
}

function changesBetween(former: Reading['subjects'], next: Reading['subjects']): readonly Change[] {
  const changes: Change[] = [];
  for (const now of next.values()) {
    const before = former.get(now.uuid);
    const change = { before, now };
    if (before?.body !== now.body || hasMoved(change)) changes.push(change);
  }
  for (const before of former.values())
    if (!next.has(before.uuid)) changes.push({ before, now: { ...before, body: undefined } });
  return changes;
}

const Moment = z.array(z.object({ ms: z.coerce.number() })).length(1);

async function databaseTime({ db }: WatchContext): Promise<number> {
  const answer = await db.execute(sql`select floor(extract(epoch from clock_timestamp()) * 1000) as ms`);
  return Moment.parse(rowsOf(answer))[0]?.ms ?? 0;
}

async function readFleet(context: WatchContext, former: Reading | undefined): Promise<Reading> {
  const since = performance.now();
  const began = await databaseTime(context);
  const nodes = await readNodes(context.db, former?.nodes);
  const subjects = new Map(nodes.subjects);
  for (const flow of await readFlows(context)) {
    const owner = subjects.get(flow.node_uuid)?.owner ?? null;
    subjects.set(flow.uuid, { kind: 'flow', uuid: flow.uuid, body: dataOf('flow', flow), owner, lessee: null });
  }
  for (const action of await listActions(context.db, { limit: shownActions })) {
    const { id, name, error } = action;
    const body = dataOf('action', { id, name, state: describeState(action), error });
    subjects.set(id, { kind: 'action', uuid: id, body, owner: null, lessee: null });
  }
  const ended = (await databaseTime(context)) + 1;
  const at = performance.now();
  return { began, ended, subjects, nodes, tookMs: at - since, at };
}

async function readFlows(context: WatchContext) {
  const flows: Awaited<ReturnType<typeof listFlows>> = [];
  for (;;) {
    const page = await listFlows(context, {}, { limit: pageSize, marker: flows.at(-1)?.uuid });
    flows.push(...page);
    if (page.length < pageSize) return flows;
  }
}
