/* oxlint-disable unicorn/require-post-message-target-origin -- a thread's messages, not a window's */
import { Worker } from 'node:worker_threads';
import { doSiteWork, type SiteAnswer, type SiteOrder, type SiteWorks } from '#conductor/sites/apart/site-works.ts';
import { dataSchema } from '#conductor/sites/documents/schema-faults.ts';
import { isMapping, type SiteDocument } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';
import { heapLimits, isHeapFull } from '#shared/thread-memory.ts';

interface ApartLimits {
  /** Milliseconds for one work. */
  readonly timeoutMs: number;
  /** Milliseconds that the thread waits for the next work: it takes its time to start, and memory while it is there. */
  readonly idleMs: number;
  /** Works that may wait for their turn: each holds its documents meanwhile. */
  readonly waiting: number;
  /** Megabytes of its heap. */
  readonly memoryMb: number;
  readonly program: URL;
}

const defaultLimits: ApartLimits = {
  timeoutMs: 60_000,
  idleMs: 60_000,
  waiting: 16,
  memoryMb: 768,
  program: new URL('site-thread.ts', import.meta.url),
};

/**
 * Does a work on all documents of a site.
 * @throws AppError `invalid_argument` when it takes too long or too much memory, `unavailable` when too many wait already,
 * and what the work throws
 */
export type ReadApart = <Name extends keyof SiteWorks>(
  work: Name,
  ...given: Parameters<SiteWorks[Name]>
) => Promise<ReturnType<SiteWorks[Name]>>;

/**
 * Makes a reader with a thread of its own, so that neither people's regular expressions and schemas nor thousands of
 * documents hold up those who ask for something else. A few documents without either are read at once.
 */
export function newReadApart(given: Partial<ApartLimits> = {}): ReadApart {
  const limits = { ...defaultLimits, ...given };
  const thread: { worker?: Worker | undefined; idle?: NodeJS.Timeout } = {};
  const refusal = (): AppError =>
    new AppError('unavailable', 'documents of others are being read; try again in a minute', { retryable: true });
  const inTurn = limitAtOnce({ most: 1, waiting: { most: limits.waiting, refusal } });
  const begin = (): Worker => {
    const worker = new Worker(limits.program, {
      env: {},
      execArgv: [],
      name: 'site documents',
      resourceLimits: heapLimits(limits.memoryMb),
    });
    const forget = (): void => {
      if (thread.worker === worker) thread.worker = undefined;
    };
    // one that ends while nobody waits for it is begun again for the next
    return worker.on('error', forget).on('exit', forget);
  };
  const end = (): void => {
    void thread.worker?.terminate();
    thread.worker = undefined;
  };
  const ask = async (order: SiteOrder): Promise<unknown> => {
    clearTimeout(thread.idle);
    thread.worker ??= begin();
    const answer = await askThread(thread.worker, order, limits).catch((error: unknown) => {
      end();
      throw error;
    });
    thread.idle = setTimeout(end, limits.idleMs).unref();
    if ('made' in answer) return answer.made;
    throw new AppError(answer.error.code, answer.error.text);
  };
  return async (work, ...args) => {
    const order = { work, given: args };
    // both sides know the type by the work's name
    const made = isLight(args[0]) ? doSiteWork(order) : await inTurn(() => ask(order));
    return made as ReturnType<SiteWorks[typeof work]>;
  };
}

/**
 * @throws AppError `invalid_argument` when it takes too long or too much memory, `internal` when the thread ends: it is of
 * no use any more.
 */
async function askThread(
  worker: Worker,
  order: SiteOrder,
  { timeoutMs, memoryMb }: Pick<ApartLimits, 'timeoutMs' | 'memoryMb'>,
): Promise<SiteAnswer> {
  const over = Promise.withResolvers<SiteAnswer>();
  const tooMuch = `reading the documents takes more than ${memoryMb} MB of memory`;
  let error: Error | undefined;
  const note = (given: Error): void => {
    error = given;
  };
  // the thread's error may overtake its answer, its exit does not
  const fail = (code: number): void => {
    const cause = error ?? new Error(`the thread ended with ${code}`);
    over.reject(
      isHeapFull(cause)
        ? new AppError('invalid_argument', tooMuch)
        : new AppError('internal', 'read the documents', { cause }),
    );
  };
  const late = `reading the documents takes longer than ${timeoutMs / 1000} s; their regular expressions and schemas are most of it`;
  const timer = setTimeout(() => over.reject(new AppError('invalid_argument', late)), timeoutMs);
  worker.once('message', over.resolve).once('error', note).once('exit', fail);
  // it keeps no process from ending, unless somebody waits for it
  worker.ref();
  try {
    worker.postMessage(order);
    return await over.promise;
  } finally {
    worker.unref();
    clearTimeout(timer);
    worker.off('message', over.resolve).off('error', note).off('exit', fail);
  }
}

/** Reader that all of a process share, and its one thread. */
export const readApart = newReadApart();

/** A few milliseconds' worth of values, and of characters. */
const lightValues = 2_000;
const lightCharacters = 256 * 1024;

/** Whether the documents are few and short, and have neither regular expressions nor schemas of people. */
function isLight(documents: readonly SiteDocument[]): boolean {
  const left = { values: lightValues, characters: lightCharacters };
  const takes = (value: unknown): boolean => {
    left.values -= 1;
    if (typeof value === 'string') left.characters -= value.length;
    if (left.values < 0 || left.characters < 0) return false;
    if (Array.isArray(value)) return value.every(takes);
    return !isMapping(value) || Object.entries(value).every(([key, each]) => key !== 'pattern' && takes(each));
  };
  return documents.every(({ schema, metadata, data }) => schema !== dataSchema && takes(metadata) && takes(data));
}
