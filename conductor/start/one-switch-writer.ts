import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '#conductor/kernel/db/open.ts';
import type { OneWriter } from '#conductor/networks/switch-rounds.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Milliseconds between two tries, and until they end: a round takes as long as the switch's commit. */
const retryMs = 200;
const waitMs = 300_000;

/**
 * Of all conductors on the database, one changes a switch at a time. The lock ends with the conductor, or its connection
 * to the database. A lock that PostgreSQL waits for would not hear of an abort: hence the tries.
 */
export function oneSwitchWriter(database: Pick<Database, 'exclusive' | 'lock'>): OneWriter {
  if (database.exclusive) return (_switchId, _signal, work) => work();
  return async (switchId, signal, work) => {
    const lock = database.lock(`switch ${switchId.toLowerCase()}`);
    const take = (): Promise<boolean> =>
      lock.take().catch((cause: unknown) => {
        throw new AppError('unavailable', `the database does not give the lock of switch ${switchId}`, { cause });
      });
    const deadline = performance.now() + waitMs;
    try {
      while (!(await take())) {
        signal.throwIfAborted();
        if (performance.now() > deadline) {
          throw new AppError('busy', `another conductor has been changing switch ${switchId} for ${waitMs / 1000} s`);
        }
        await sleep(retryMs);
      }
      return await work();
    } finally {
      await lock.release();
    }
  };
}
