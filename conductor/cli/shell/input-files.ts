import { readFile, stat, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { parse } from 'yaml';
import { usageError } from '#conductor/cli/shell/usage-error.ts';

/**
 * A file that an option names, as text; `-` = standard input.
 * @throws AppError `invalid_argument` naming option and file.
 */
export async function readInputFile(option: string, file: string): Promise<string> {
  // not `/dev/stdin`: a program that starts this one may give it a socket, which can't be opened by name
  const reading = file === '-' ? text(process.stdin) : readFile(file, 'utf8');
  return reading.catch((cause: unknown) => {
    throw usageError(`${option}: read ${file}`, { cause });
  });
}

/**
 * A document in a file, JSON or YAML, which contains JSON.
 * @throws AppError `invalid_argument` naming option and file.
 */
export async function readDocument(option: string, file: string): Promise<unknown> {
  const content = await readInputFile(option, file);
  try {
    return parse(content) as unknown;
  } catch (cause) {
    throw usageError(`${option}: ${file}: it must be JSON or YAML`, { cause });
  }
}

/**
 * A list of steps in a file: the list, or an object with the list under `key`, as requests have it.
 * @throws AppError `invalid_argument` naming option and file; the steps themselves are the server's to check.
 */
export async function readSteps(option: string, file: string, key: string): Promise<unknown[]> {
  const document = await readDocument(option, file);
  const isObject = typeof document === 'object' && document !== null;
  const steps: unknown = isObject && !Array.isArray(document) ? Reflect.get(document, key) : document;
  if (Array.isArray(steps)) return steps;
  throw usageError(`${option}: ${file}: it must be a list of steps, or {"${key}": [steps]}`);
}

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
