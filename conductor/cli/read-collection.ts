import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { usageError } from '#conductor/cli/command.ts';
import { readInputFile } from '#conductor/cli/read-input-file.ts';

/**
 * Files of documents as the one text that is uploaded; of a directory all `.yaml` and `.yml` files below it, by name.
 * A single file is sent byte for byte.
 * @throws AppError `invalid_argument` naming what can't be read.
 */
export async function readCollection(names: readonly string[]): Promise<string> {
  const files = (await Promise.all(names.map(listFiles))).flat();
  const [only] = files;
  if (only === undefined) throw usageError(`${names.join(', ')}: no .yaml or .yml file in it`);
  if (files.length === 1) return readInputFile('FILE', only);
  const texts: string[] = [];
  // `...` ends a document, whatever the next file begins with
  for (const file of files) texts.push(`# ${file}\n${(await readInputFile('FILE', file)).replace(/\n?$/, '\n')}...\n`);
  return texts.join('');
}

async function listFiles(name: string): Promise<string[]> {
  if (name === '-') return [name];
  const found = await stat(name).catch((cause: unknown) => {
    throw usageError(`read ${name}`, { cause });
  });
  if (!found.isDirectory()) return [name];
  const entries = await readdir(name, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && /\.ya?ml$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort((a, b) => a.localeCompare(b));
}
