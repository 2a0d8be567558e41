import type { Queryable } from '#conductor/kernel/db/open.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Writes rows, in the order in which they were given, with `statement`s that are all sent when it is called. */
export type Write<Row> = (db: Queryable, rows: readonly Row[]) => Promise<unknown>;

type Waiting = Map<Write<never>, unknown[]>;
const waiting = Symbol('before commit');

/** Makes `beforeCommit` keep rows for the end of this transaction. */
export function collectRows<Tx extends Queryable>(tx: Tx): Tx {
  return Object.assign(tx, { [waiting]: new Map() satisfies Waiting });
}

/**
 * Writes a row that nothing in its transaction reads: together with all others of its kind, right before COMMIT and without
 * a round trip of its own. Without a transaction it is written at once.
 */
export async function beforeCommit<Row>(db: Queryable, write: Write<Row>, row: Row): Promise<void> {
  const rows = Reflect.get(db, waiting) as Waiting | undefined;
  if (!rows) await write(db, [row]);
  else rows.set(write, [...(rows.get(write) ?? []), row]);
}

/**
 * Sends what was kept, to be waited for with the COMMIT, which commits nothing when one of them fails.
 * @param countSent how many statements the transaction has sent
 * @throws AppError `internal` for what would be sent too late
 */
export function writeRows(tx: Queryable, countSent: () => number): Promise<unknown>[] {
  const rows = Reflect.get(tx, waiting) as Waiting;
  return [...rows].map(([write, each]) => {
    const before = countSent();
    const written = write(tx, each as never[]);
    if (countSent() > before) return written;
    written.catch(() => undefined); // it was not sent: the error below says so
    throw new AppError(
      'internal',
      'rows for the end of a transaction must be written by a statement that is sent at once',
    );
  });
}
