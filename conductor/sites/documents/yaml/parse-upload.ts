import { fileURLToPath } from 'node:url';
import {
  type DocumentLimits,
  type ParsedDocuments,
  parseDocuments,
  sizeFault,
} from '#conductor/sites/documents/yaml/parse-documents.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import { limitAtOnce } from '#shared/in-parallel.ts';
import { run } from '#shared/process/run.ts';

interface UploadLimits {
  /** Characters that are read at once, in this process: a tenth of a second at worst. */
  readonly atOnce: number;
  readonly timeoutMs: number;
  /** Uploads at the same time, with the one that is being read: each holds its text in memory until its turn comes. */
  readonly waiting: number;
  readonly memoryMb: number;
  readonly documents: Partial<DocumentLimits>;
}

const defaultLimits: UploadLimits = { atOnce: 16 * 1024, timeoutMs: 60_000, waiting: 8, memoryMb: 768, documents: {} };

export type ParseUpload = (text: string) => Promise<ParsedDocuments>;

/**
 * Reads uploads as `parseDocuments` does, larger ones in a process of their own, which has an end in time and memory: one
 * document of a few MiB can take minutes and gigabytes, and would take the conductor along (so does a thread whose
 * memory ends: V8 then ends the whole process). One after another, no matter who sends them.
 * @throws AppError `unavailable` when too many wait already
 */
export function newParseUpload(given: Partial<UploadLimits> = {}): ParseUpload {
  const limits = { ...defaultLimits, ...given };
  const inTurn = limitAtOnce({
    most: 1,
    waiting: {
      most: limits.waiting - 1,
      refusal: () =>
        new AppError('unavailable', 'other uploads are being read; try again in a minute', { retryable: true }),
    },
  });
  return async (text) => {
    const fault = sizeFault(text, limits.documents);
    if (fault) return { documents: [], faults: [fault] };
    if (text.length <= limits.atOnce) return parseDocuments(text, limits.documents);
    return inTurn(() => parseApart(text, limits));
  };
}

/** All of a process's. */
export const parseUpload = newParseUpload();

const program = fileURLToPath(new URL('parse-program.ts', import.meta.url));

/** Killed by SIGABRT: how V8 ends a process whose heap is full. */
const outOfMemory = 134;

async function parseApart(text: string, { timeoutMs, memoryMb, documents }: UploadLimits): Promise<ParsedDocuments> {
  try {
    const { stdout, exitCode } = await run(
      process.execPath,
      [`--max-old-space-size=${memoryMb}`, program, JSON.stringify(documents)],
      {
        input: text,
        timeoutMs,
        okExitCodes: [0, outOfMemory],
      },
    );
    if (exitCode === outOfMemory) return tooLarge(`it takes more than ${memoryMb} MiB to read`);
    return JSON.parse(stdout) as ParsedDocuments;
  } catch (error) {
    if (errorCode(error) === 'timeout') return tooLarge(`reading it took longer than ${timeoutMs / 1000} s`);
    throw error;
  }
}

function tooLarge(why: string): ParsedDocuments {
  const message = `the upload is too large: ${why}; make several collections of it`;
  return { documents: [], faults: [{ level: 'Error', name: 'TooLarge', message }] };
}
