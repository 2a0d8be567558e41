import { sql } from 'drizzle-orm';
import { databaseFaultClass } from '#conductor/kernel/db/fault-class.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/** Why the database refuses to write: SQLSTATE 53100 (its disk is full), 58030 (it can't be read or written), 25006 (read-only). */
const writeFaults: ReadonlySet<string> = new Set(['53100', '58030', '25006']);

/** Remembers that a write was refused for want of a working disk, until one succeeds that needs room on it. */
export interface WriteWatch {
  readonly onError: (error: unknown) => void;
  /** What the last refusal said, unless a write succeeds now. */
  fault(db: Queryable): Promise<string | undefined>;
}

export function watchWrites(log: Log): WriteWatch {
  const state: { fault: string | undefined; refusals: number } = { fault: undefined, refusals: 0 };
  return {
    onError: (error) => {
      const fault = describeWriteFault(error);
      if (fault === undefined) return;
      if (fault !== state.fault) log.error({ err: error }, 'the database refuses to write');
      state.fault = fault;
      state.refusals += 1;
    },
    fault: async (db) => {
      if (state.fault === undefined) return undefined;
      const refused = state.refusals;
      // whatever else goes wrong, such as a table that this user may not make, is no fault of the disk
      const hasWritten = await probe(db).then(
        () => true,
        (error: unknown) => databaseFaultClass(error) !== 'connection',
      );
      if (!hasWritten || state.refusals > refused) return state.fault;
      log.info('the database writes again');
      state.fault = undefined;
      return undefined;
    },
  };
}

function describeWriteFault(error: unknown): string | undefined {
  return isWriteFault(error) ? errorChain(error) : undefined;
}

/** Whether the error, or what it was caused by, is a refusal to write. */
export function isWriteFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && writeFaults.has(String(error.code))) || isWriteFault(error.cause);
}

/** Small changes fit into pages that are there already: a table of its own needs new ones, for as long as this takes. */
async function probe(db: Queryable): Promise<void> {
  const done = new Error('nothing of it is kept');
  const tried = db.transaction(async (tx) => {
    await tx.execute(
      sql`create temporary table write_probe as select (select string_agg(md5(random()::text || i), '')
      from generate_series(1, 250)) from generate_series(1, 16) i`,
    );
    throw done;
  });
  await tried.catch((error: unknown) => {
    if (error !== done) throw error;
  });
}
