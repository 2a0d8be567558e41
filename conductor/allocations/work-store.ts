import { and, asc, eq, getTableColumns, gt, inArray, type SQL, sql } from 'drizzle-orm';
import type { AllocationsContext } from '#conductor/allocations/context.ts';
import { isAlive } from '#conductor/kernel/conductors/conductor-store.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { type AllocationRow, allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { conductors } from '#conductor/kernel/db/schema/conductor.ts';
import { notifyWebhooksOfAllocations } from '#conductor/kernel/outbox.ts';
import { allocationStates, statesBefore } from '#conductor/model/site/transitions.ts';

type Work = Pick<AllocationsContext, 'db' | 'config'>;

/** It can still be given a node. */
export const isUnserved = inArray(allocations.state, statesBefore(allocationStates, 'active'));

const toServe = (conductor: string): SQL | undefined => and(eq(allocations.conductor, conductor), isUnserved);

export interface WorkRow extends AllocationRow {
  /** For so many milliseconds it may wait yet, by the clock of the database: conductors' clocks differ. */
  readonly waitsMs: number | null;
}

const workColumns = {
  ...getTableColumns(allocations),
  waitsMs: sql<number | null>`ceil(extract(epoch from ${allocations.waitUntil} - now()) * 1000)`.mapWith(Number),
};

/** Reads the next of this conductor's allocations that have no node yet, in the order of creation; groups are whole. */
export async function readUnserved(
  { db, config }: Work,
  page: { readonly afterId: number; readonly limit: number },
): Promise<{ readonly rows: WorkRow[]; readonly lastId: number | undefined }> {
  const ours = toServe(config.conductorName);
  const rows = await db
    .select(workColumns)
    .from(allocations)
    .where(and(ours, gt(allocations.id, page.afterId)))
    .orderBy(asc(allocations.id))
    .limit(page.limit);
  const groups = [...new Set(rows.flatMap(({ groupUuid }) => groupUuid ?? []))];
  const members =
    groups.length === 0
      ? []
      : await db
          .select(workColumns)
          .from(allocations)
          .where(and(ours, isAmong(allocations.groupUuid, groups)))
          .orderBy(asc(allocations.id));
  const all = [...rows.filter(({ groupUuid }) => groupUuid === null), ...members].sort((a, b) => a.id - b.id);
  return { rows: all, lastId: rows.at(-1)?.id };
}

/**
 * Ends allocations in error, or notes what they wait for; those that somebody else has taken over or deleted are left
 * alone: every save checks conductor and token (seed 003, "HA and take over").
 */
export async function saveUnserved(
  { db, config }: Work,
  rows: readonly AllocationRow[],
  outcome: { readonly lastError: string } | { readonly waitingFor: string },
): Promise<void> {
  const known = JSON.stringify(rows.map(({ uuid, token }) => ({ uuid, token })));
  await db.transaction(async (tx) => {
    const saved = await tx
      .update(allocations)
      .set({
        ...('lastError' in outcome ? { state: 'error', lastError: outcome.lastError, waitingFor: null } : outcome),
        updatedAt: sql`now()`,
      })
      .where(
        and(
          toServe(config.conductorName),
          sql`(${allocations.uuid}, ${allocations.token}) in (select uuid, token from jsonb_to_recordset(${known}::text::jsonb) as known(uuid uuid, token bigint))`,
        ),
      )
      .returning({ uuid: allocations.uuid });
    if ('lastError' in outcome)
      await notifyWebhooksOfAllocations(
        tx,
        saved.map(({ uuid }) => uuid),
      );
  });
}

/** Takes over, at start, allocations that an earlier process of this conductor has left, and fences that process off. */
export async function resumeOwn({ db, config }: Work): Promise<number> {
  const rows = await db
    .update(allocations)
    .set({ token: sql`${allocations.token} + 1` })
    .where(toServe(config.conductorName))
    .returning({ uuid: allocations.uuid });
  return rows.length;
}

/**
 * Takes over what dead conductors have left: each row only while it is still its dead conductor's under the token read
 * (seed 003, "HA and take over"), so that of several conductors one gets it.
 */
export async function takeOverDead({ db, config }: Work): Promise<number> {
  const living = db
    .select({ hostname: conductors.hostname })
    .from(conductors)
    .where(isAlive(config.conductorTimeoutMs));
  const left = db
    .select({ uuid: allocations.uuid, conductor: allocations.conductor, token: allocations.token })
    .from(allocations)
    .where(
      and(
        isUnserved,
        sql`${allocations.conductor} <> ${config.conductorName}`,
        sql`${allocations.conductor} not in ${living}`,
      ),
    )
    .as('left_behind');
  const rows = await db
    .update(allocations)
    .set({ conductor: config.conductorName, token: sql`${allocations.token} + 1` })
    .from(left)
    .where(
      and(
        eq(allocations.uuid, left.uuid),
        eq(allocations.conductor, left.conductor),
        eq(allocations.token, left.token),
        isUnserved,
      ),
    )
    .returning({ uuid: allocations.uuid });
  return rows.length;
}

/** Forgets allocations that have been in error for longer than the configuration says; until then each keeps its name. */
export async function pruneFailedAllocations({ db, config: { allocationErrorDays } }: Work): Promise<void> {
  if (allocationErrorDays === 0) return;
  await db
    .delete(allocations)
    .where(
      and(
        eq(allocations.state, 'error'),
        sql`coalesce(${allocations.updatedAt}, ${allocations.createdAt}) < now() - make_interval(days => ${allocationErrorDays})`,
      ),
    );
}
