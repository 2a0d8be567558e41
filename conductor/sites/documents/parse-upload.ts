import { Worker } from 'node:worker_threads';
import {
  type DocumentLimits,
  type ParsedDocuments,
  parseDocuments,
  sizeFault,
} from '#conductor/sites/documents/parse-documents.ts';
import { AppError } from '#shared/errors/app-error.ts';

interface ThreadLimits {
  /** Characters that are read at once, without a thread: a tenth of a second at worst. */
  readonly atOnce: number;
  readonly timeoutMs: number;
  /** Uploads of which each holds its text in memory until its turn comes. */
  readonly waiting: number;
  readonly memoryMb: number;
  readonly documents: Partial<DocumentLimits>;
}

const defaultLimits: ThreadLimits = { atOnce: 16 * 1024, timeoutMs: 60_000, waiting: 8, memoryMb: 768, documents: {} };

export type ParseUpload = (text: string) => Promise<ParsedDocuments>;

/**
 * Reads uploads as `parseDocuments` does, larger ones on a thread that has an end in time and memory: one document of a
 * few MiB can take minutes and gigabytes, and would take the conductor along. One after another, whoever sends them.
 * @throws AppError `unavailable` when too many wait already
 */
export function newParseUpload(given: Partial<ThreadLimits> = {}): ParseUpload {
  const limits = { ...defaultLimits, ...given };
  const line: { last: Promise<unknown>; length: number } = { last: Promise.resolve(), length: 0 };
  return async (text) => {
    const fault = sizeFault(text, limits.documents);
    if (fault) return { documents: [], faults: [fault] };
    if (text.length <= limits.atOnce) return parseDocuments(text, limits.documents);
    if (line.length >= limits.waiting) {
      throw new AppError('unavailable', 'other uploads are being read; try again in a minute', { retryable: true });
    }
    line.length += 1;
    const parsed = line.last
      .then(() => parseOnThread(text, limits))
      .finally(() => {
        line.length -= 1;
      });
    // the next one's turn comes however this one ends, which its own caller hears of
    line.last = parsed.catch(() => undefined);
    return parsed;
  };
}

/** All of a process's. */
export const parseUpload = newParseUpload();

async function parseOnThread(text: string, limits: ThreadLimits): Promise<ParsedDocuments> {
  const worker = new Worker(new URL('parse-worker.ts', import.meta.url), {
    workerData: { text, limits: limits.documents },
    resourceLimits: { maxOldGenerationSizeMb: limits.memoryMb },
  });
  try {
    return await answerOf(worker, limits);
  } finally {
    await worker.terminate();
  }
}

function answerOf(worker: Worker, { timeoutMs, memoryMb }: ThreadLimits): Promise<ParsedDocuments> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      resolve(tooLarge(`reading it took longer than ${timeoutMs / 1000} s`));
    }, timeoutMs);
    worker.once('message', resolve);
    worker.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') resolve(tooLarge(`it takes more than ${memoryMb} MiB to read`));
      else reject(error);
    });
    worker.once('exit', () => {
      clearTimeout(timer);
      reject(new Error('the thread that reads uploads ended without an answer'));
    });
  });
}

function tooLarge(why: string): ParsedDocuments {
  const message = `the upload is too large: ${why}; make several collections of it`;
  return { documents: [], faults: [{ level: 'Error', name: 'TooLarge', message }] };
}
