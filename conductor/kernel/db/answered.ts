import { readFileSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/** A transaction whose end was answered: its number, and a position in the log before that end. */
export interface Mark {
  readonly xid: string;
  readonly lsn: string;
}

export const Memory = z.strictObject({
  system: z.string(),
  timeline: z.number().int(),
  marks: z.array(z.strictObject({ xid: z.string().regex(/^\d+$/), lsn: z.string().regex(/^[0-9A-F]+\/[0-9A-F]+$/) })),
});
/** The database as this conductor knows it. */
export type Memory = Readonly<z.infer<typeof Memory>>;

/** Marks that are kept: more than ten conductors have connections, so the newest of all that ended one after the other is among them. */
const kept = 128;
const writeEveryMs = 200;

/** The database's answers to this conductor, in memory and, some tenths of a second later, in a file. */
export interface Answered {
  /** `undefined` = it was never answered anything. */
  memory(): Memory | undefined;
  /** Goes on from there: what was answered elsewhere is of no use any more. */
  adopt(where: Pick<Memory, 'system' | 'timeline'>): void;
  add(mark: Mark): void;
  close(): Promise<void>;
}

/**
 * @param file absent = in memory only
 * @throws AppError `invalid_argument` for a file that is there and not understood: what it knew must not be forgotten
 */
export function rememberAnswers(file: string | undefined, log: Log): Answered {
  const state: {
    memory: Memory | undefined;
    isDue: boolean;
    writing: Promise<void> | undefined;
    written: Promise<void>;
  } = {
    memory: file === undefined ? undefined : read(file),
    isDue: false,
    writing: undefined,
    written: Promise.resolve(),
  };
  const writeNow = async (): Promise<void> => {
    if (file === undefined || !state.memory) return;
    state.isDue = false;
    try {
      await mkdir(dirname(file), { recursive: true });
      await writeFile(`${file}.new`, JSON.stringify(state.memory), { mode: 0o600 });
      await rename(`${file}.new`, file);
    } catch (err) {
      log.warn(
        { err, file },
        'what the database has answered is remembered until this conductor ends, and not written',
      );
    }
  };
  // one after the other: two at once would write into one file
  const write = (): Promise<void> => {
    state.written = state.written.then(writeNow);
    return state.written;
  };
  const writeSoon = (): void => {
    if (file === undefined || state.isDue) return;
    state.isDue = true;
    state.writing ??= (async () => {
      while (state.isDue) {
        await new Promise((resolve) => {
          setTimeout(resolve, writeEveryMs).unref();
        });
        // closed meanwhile: the file may be the next life's by now
        if (state.isDue) await write();
      }
      state.writing = undefined;
    })();
  };
  return {
    memory: () => state.memory,
    adopt: (where) => {
      state.memory = { ...where, marks: [] };
      writeSoon();
    },
    add: (mark) => {
      if (!state.memory) return;
      const { marks } = state.memory;
      if (marks.some(({ xid }) => xid === mark.xid)) return;
      state.memory = { ...state.memory, marks: [...marks.slice(1 - kept), mark] };
      writeSoon();
    },
    close: () => {
      state.isDue = false;
      return write();
    },
  };
}

function read(file: string): Memory | undefined {
  try {
    return Memory.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    const message = `${file}, which says what the database has answered, can't be read: delete it if you know that the database has lost nothing`;
    throw new AppError('invalid_argument', message, { cause });
  }
}

/** Reads a position such as `0/1920948` as a number. Pure. */
export function positionOf(lsn: string): bigint {
  const [high = '0', low = '0'] = lsn.split('/');
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}
