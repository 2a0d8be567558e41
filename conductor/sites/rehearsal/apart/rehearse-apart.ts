/* oxlint-disable unicorn/require-post-message-target-origin -- a thread's messages, not a window's */
import { Worker } from 'node:worker_threads';
import type { RehearsalAnswer } from '#conductor/sites/rehearsal/apart/rehearsal-thread.ts';
import type { RehearsalOrder, Rehearsed } from '#conductor/sites/rehearsal/engine/rehearse.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';
import { heapLimits, isHeapFull } from '#shared/thread-memory.ts';

interface ApartLimits {
  /** Milliseconds for one rehearsal. */
  readonly timeoutMs: number;
  /** Megabytes of its heap. */
  readonly memoryMb: number;
  /** Rehearsals that may wait for their turn. */
  readonly waiting: number;
}

const defaultLimits: ApartLimits = { timeoutMs: 120_000, memoryMb: 512, waiting: 4 };

/**
 * Rehearses on a thread of its own, one rehearsal at a time.
 * @throws AppError `invalid_argument` when it takes too long or too much memory, `unavailable` when too many wait already,
 * `internal`
 */
export type RehearseApart = (order: RehearsalOrder) => Promise<Rehearsed>;

export function newRehearseApart(given: Partial<ApartLimits> = {}): RehearseApart {
  const limits = { ...defaultLimits, ...given };
  const refusal = (): AppError =>
    new AppError('unavailable', 'others are rehearsing; try again in a minute', { retryable: true });
  const inTurn = limitAtOnce({ most: 1, waiting: { most: limits.waiting, refusal } });
  return (order) => inTurn(() => askThread(order, limits));
}

async function askThread(order: RehearsalOrder, { timeoutMs, memoryMb }: ApartLimits): Promise<Rehearsed> {
  const worker = new Worker(new URL('rehearsal-thread.ts', import.meta.url), {
    env: {},
    execArgv: [],
    name: 'rehearsal',
    resourceLimits: heapLimits(memoryMb),
  });
  const over = Promise.withResolvers<RehearsalAnswer>();
  let error: Error | undefined;
  const refuse = (tooMuch: string): void =>
    over.reject(new AppError('invalid_argument', `${tooMuch}; ask for fewer runs`));
  const timer = setTimeout(() => refuse(`rehearsing takes longer than ${timeoutMs / 1000} s`), timeoutMs);
  worker
    .once('message', over.resolve)
    .once('error', (given: Error) => {
      error = given;
    })
    // the thread's error may overtake its answer, its exit does not
    .once('exit', (code) => {
      const cause = error ?? new Error(`the thread ended with ${code}`);
      if (isHeapFull(cause)) refuse(`rehearsing takes more than ${memoryMb} MB of memory`);
      else over.reject(new AppError('internal', 'rehearse an action', { cause }));
    });
  try {
    worker.postMessage(order);
    const answer = await over.promise;
    if ('made' in answer) return answer.made;
    throw new AppError('internal', `rehearse an action: ${answer.error}`);
  } finally {
    clearTimeout(timer);
    await worker.terminate();
  }
}

/** Rehearsals of a process, one after another. */
export const rehearseApart = newRehearseApart();
