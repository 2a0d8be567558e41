import { readFile, stat, writeFile } from 'node:fs/promises';
import { usageError } from '#conductor/cli/command.ts';

/**
 * Writes a file that is not there yet, or has this text already; pipes and devices take it as well.
 * @throws AppError `invalid_argument` naming option and file, also for one that has something else: it may be the only copy
 */
export async function writeNewFile(option: string, file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx' });
  } catch (cause) {
    if (!isThere(cause)) throw usageError(`${option}: write ${file}`, { cause });
    await leaveOrFeed(option, file, text);
  }
}

async function leaveOrFeed(option: string, file: string, text: string): Promise<void> {
  try {
    if (!(await stat(file)).isFile()) {
      await writeFile(file, text);
      return;
    }
    if ((await readFile(file, 'utf8')) === text) return;
  } catch (cause) {
    throw usageError(`${option}: write ${file}`, { cause });
  }
  throw usageError(`${option}: ${file} is there already, with something else in it; give it another name`);
}

function isThere(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}
