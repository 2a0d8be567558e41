import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { usageError } from '#conductor/cli/command.ts';

/**
 * A file that an option names, as text; `-` = standard input.
 * @throws AppError `invalid_argument` naming option and file.
 */
export async function readInputFile(option: string, file: string): Promise<string> {
  return readFile(file === '-' ? '/dev/stdin' : file, 'utf8').catch((cause: unknown) => {
    throw usageError(`${option}: read ${file}`, { cause });
  });
}

/**
 * A document in a file, JSON or YAML, which contains JSON.
 * @throws AppError `invalid_argument` naming option and file.
 */
export async function readDocument(option: string, file: string): Promise<unknown> {
  const text = await readInputFile(option, file);
  try {
    return parse(text) as unknown;
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
