import { and, asc, eq, getTableColumns, gt, isNull, type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/query/queryable.ts';
import { type ConductorRow, conductors } from '#conductor/kernel/db/schema/conductor.ts';
import { type PageRequest, pageOf, sortColumn } from '#conductor/kernel/page-of.ts';

/**
 * The newest work that this release can do, as it says so in the register, and as a site action may need it
 * (`site_actions.needs`): 0 = all before there was this number, 1 = nodes are torn down by site actions,
 * 2 = an action is a flow of the site, 3 = it stops acting when its session with the database is silent,
 * 4 = groups begin their nodes in parts, 5 = and ask health gates meanwhile.
 */
export const workKnown = 5;

/** Level of an action whose groups begin their nodes in parts: an older release would begin all of them at once. */
export const workOfRollout = 4;

/** Level of an action whose groups have health gates: an older release would go on whatever they answer. */
export const workOfGates = 5;

/** Since which a conductor without a session is dead soon. */
export const lifeEndsWithSession = 3;

/** Whether a conductor's release is older than the work: its present life has not said that it can do it. Pure. */
export function isOlderThan(
  work: number,
  { knows, knowsGeneration, generation }: Pick<ConductorRow, 'knows' | 'knowsGeneration' | 'generation'>,
): boolean {
  return knowsGeneration !== generation || knows < work;
}

/** A conductor of the register, dead ones too. */
export type Conductor = ConductorRow & { readonly alive: boolean };

/** A conductor's description of itself. */
export type ConductorDescription = Pick<ConductorRow, 'hostname' | 'conductorGroup' | 'drivers' | 'publicUrl'>;

/**
 * On a row of `conductors`: it has not said good-bye, and its last heartbeat is younger than `timeoutMs`
 * (`config.conductorTimeoutMs`) by the database's clock. Who is in no row is dead.
 */
export function isAlive(timeoutMs: number): SQL | undefined {
  return and(
    isNull(conductors.stoppedAt),
    gt(conductors.updatedAt, sql`now() - make_interval(secs => ${timeoutMs / 1000})`),
  );
}

/** All that have ever registered, in the order of their first start. */
export function listConductors(db: Queryable, timeoutMs: number): Promise<Conductor[]> {
  return selectConductors(db, timeoutMs).orderBy(asc(conductors.id));
}

export async function findConductor(
  db: Queryable,
  hostname: string,
  timeoutMs: number,
): Promise<Conductor | undefined> {
  const [row] = await selectConductors(db, timeoutMs).where(eq(conductors.hostname, hostname));
  return row;
}

const sortColumns = {
  hostname: conductors.hostname,
  conductor_group: conductors.conductorGroup,
  created_at: conductors.createdAt,
  updated_at: conductors.updatedAt,
};

/** @throws AppError `invalid_argument` for a field that the list is not sorted by. */
export function listConductorPage(db: Queryable, timeoutMs: number, page: PageRequest): Promise<Conductor[]> {
  const { order, after } = pageOf({
    table: sql`${conductors}`,
    uuid: conductors.hostname,
    id: conductors.id,
    sortBy: sortColumn(sortColumns, page.sortKey),
    descending: page.descending,
    marker: page.marker,
  });
  return selectConductors(db, timeoutMs)
    .where(after)
    .orderBy(...order)
    .limit(page.limit);
}

function selectConductors(db: Queryable, timeoutMs: number) {
  const alive = sql<boolean>`${isAlive(timeoutMs)}`;
  return db.select({ ...getTableColumns(conductors), alive }).from(conductors);
}

/** Writes the conductor's row at its start; answers the generation, by which this life is known from others. */
export async function insertConductor(db: Queryable, description: ConductorDescription): Promise<number> {
  const [row] = await db
    .insert(conductors)
    .values({ ...description, knows: workKnown, knowsGeneration: 1 })
    .onConflictDoUpdate({
      target: conductors.hostname,
      set: {
        ...description,
        generation: sql`${conductors.generation} + 1`,
        knows: workKnown,
        knowsGeneration: sql`${conductors.generation} + 1`,
        updatedAt: sql`now()`,
        stoppedAt: null,
      },
    })
    .returning({ generation: conductors.generation });
  return row?.generation ?? 1;
}

const isThisLife = (hostname: string, generation: number) =>
  and(eq(conductors.hostname, hostname), eq(conductors.generation, generation));

/**
 * A heartbeat; `false` when another process has taken the name since.
 * @param hasName its session holds its name: if others had held it for dead, it is back
 */
export async function recordConductorHeartbeat(
  db: Queryable,
  { hostname, generation }: Pick<ConductorRow, 'hostname' | 'generation'>,
  hasName: boolean,
): Promise<boolean> {
  const rows = await db
    .update(conductors)
    .set({ updatedAt: sql`now()`, ...(hasName ? { stoppedAt: null } : {}) })
    .where(isThisLife(hostname, generation))
    .returning({ id: conductors.id });
  return rows.length > 0;
}

/** Good-bye: from now on it is not alive. */
export async function recordConductorStop(
  db: Queryable,
  { hostname, generation }: Pick<ConductorRow, 'hostname' | 'generation'>,
): Promise<void> {
  await db.update(conductors).set({ stoppedAt: sql`now()` }).where(isThisLife(hostname, generation));
}
