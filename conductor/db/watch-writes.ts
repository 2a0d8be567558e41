import { sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';
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
  const state: { fault: string | undefined } = { fault: undefined };
  return {
    onError: (error) => {
      const fault = describeWriteFault(error);
      if (fault === undefined) return;
      if (fault !== state.fault) log.error({ err: error }, 'the database refuses to write');
      state.fault = fault;
    },
    fault: async (db) => {
      if (state.fault === undefined) return undefined;
      try {
        await probe(db);
      } catch {
        return state.fault; // as `onError` has it of this attempt, or of the last one that reached the disk
      }
      log.info('the database writes again');
      state.fault = undefined;
      return undefined;
    },
  };
}

function describeWriteFault(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || !writeFaults.has(String(error.code))) return undefined;
  return errorChain(error);
}

/** Small changes fit into pages that are there already: a table of its own needs new ones, for as long as this takes. */
async function probe(db: Queryable): Promise<void> {
  const done = new Error('nothing of it is kept');
  const tried = db.transaction(async (tx) => {
    await tx.execute(
      sql`create temporary table write_probe as select repeat(md5(i::text), 64) from generate_series(1, 64) i`,
    );
    throw done;
  });
  await tried.catch((error: unknown) => {
    if (error !== done) throw error;
  });
}
