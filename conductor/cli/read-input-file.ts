import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { parse } from 'yaml';
import { usageError } from '#conductor/cli/command.ts';

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
