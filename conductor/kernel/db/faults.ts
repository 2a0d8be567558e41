import { DrizzleQueryError, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/query/queryable.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/** How deep drivers and we wrap what the database said. */
const maximumCauses = 8;

/**
 * Returns the class of a database's failure: the first two characters of its SQLSTATE (`40` = serialization and deadlocks,
 * `53` = out of resources, `57` = shutting down …), `connection` when it could not be reached, `other` when it does not say;
 * `undefined` for an error that is not the database's, or that somebody has given a meaning (a duplicate is a conflict).
 */
export function databaseFaultClass(error: unknown): string | undefined {
  let cause = error;
  let isOurs = false;
  for (let depth = 0; depth < maximumCauses && cause instanceof Error; depth += 1) {
    if (cause instanceof AppError && cause.code !== 'database_error') return undefined;
    isOurs ||= cause instanceof AppError || cause instanceof DrizzleQueryError;
    const code: unknown = Reflect.get(cause, 'code');
    if (typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code)) return code.slice(0, 2);
    if (typeof code === 'string' && isConnectionFault(code, cause, isOurs)) return 'connection';
    cause = cause.cause;
  }
  return isOurs ? 'other' : undefined;
}

/** Returns whether the database may answer once there is another connection: it was cut, or its server shut down (`57`). */
export function isConnectionLost(error: unknown): boolean {
  return ['connection', '08', '57'].includes(databaseFaultClass(error) ?? '');
}

/**
 * Recognizes a lost connection to the database, `CONNECTION_LOST` (`connections.ts`); other connections, a client's in the
 * middle of its request above all, are lost with the codes of sockets.
 */
function isConnectionFault(code: string, cause: Error, isOurs: boolean): boolean {
  if (code.startsWith('CONNECT')) return true;
  const isOfQuery = isOurs || ('syscall' in cause && cause.syscall === 'connect');
  return isOfQuery && /^(ECONN|EPIPE|ENOTFOUND)/.test(code);
}

/** Returns the constraint that refused a row as a duplicate (SQLSTATE 23505), or `undefined` for any other error. */
function violatedUnique(error: unknown): string | undefined {
  let current: unknown = error;
  while (current instanceof Error) {
    if ('code' in current && current.code === '23505') {
      return 'constraint' in current ? String(current.constraint) : '';
    }
    current = current.cause;
  }
  return undefined;
}

/**
 * Writes a row that the database may refuse as a duplicate.
 * @param explain the message for the constraint that refused it
 * @throws AppError `conflict` with that text.
 */
export async function refusingDuplicates<Result>(
  write: () => PromiseLike<Result>,
  explain: (constraint: string) => string,
): Promise<Result> {
  try {
    return await write();
  } catch (cause) {
    const constraint = violatedUnique(cause);
    throw constraint === undefined ? cause : new AppError('conflict', explain(constraint));
  }
}

/** Why the database refuses to write: SQLSTATE 53100 (its disk is full), 58030 (it can't be read or written), 25006 (read-only). */
const writeFaults: ReadonlySet<string> = new Set(['53100', '58030', '25006']);

/** Remembers that a write was refused for want of a working disk, until one succeeds that needs room on it. */
export interface WriteWatch {
  readonly onError: (error: unknown) => void;
  /** Gives the text of the last refusal, unless a write succeeds now. */
  fault(db: Queryable): Promise<string | undefined>;
}

export function watchWrites(log: Log): WriteWatch {
  const state: { fault: string | undefined; refusals: number } = { fault: undefined, refusals: 0 };
  return {
    onError: (error) => {
      if (!isWriteFault(error)) return;
      const fault = errorChain(error);
      if (fault !== state.fault) log.error({ err: error }, 'the database refuses to write');
      state.fault = fault;
      state.refusals += 1;
    },
    fault: async (db) => {
      if (state.fault === undefined) return undefined;
      const refused = state.refusals;
      // whatever else goes wrong, such as a table that this user may not make, is not a fault of the disk
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

/** Returns whether the error, or what it was caused by, is a refusal to write. */
export function isWriteFault(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ('code' in error && writeFaults.has(String(error.code))) || isWriteFault(error.cause);
}

/**
 * Probes whether the database has room: small changes fit into pages that are there already, while a temporary table needs
 * new ones.
 */
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
