import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { usageError } from '#conductor/cli/command.ts';
import { readInputFile } from '#conductor/cli/read-input-file.ts';

/** A text that is uploaded, and how faults of it are told. */
export interface CollectionText {
  readonly text: string;
  /** `document 3, line 17, column 5` → `racks/r1.yaml:12:5`; what names no such place stays. */
  describePlaces(message: string): string;
}

/**
 * Files of documents as the one text that is uploaded; of a directory all `.yaml` and `.yml` files below it, by name.
 * A single file is sent byte for byte.
 * @throws AppError `invalid_argument` naming what can't be read.
 */
export async function readCollection(names: readonly string[]): Promise<CollectionText> {
  const files = (await Promise.all(names.map(listFiles))).flat();
  const [only] = files;
  if (only === undefined) throw usageError(`${names.join(', ')}: no .yaml or .yml file in it`);
  if (files.length === 1) {
    return { text: await readInputFile('FILE', only), describePlaces: (message) => placesIn(message, [[only, 0]]) };
  }
  const texts: string[] = [];
  const before: [string, number][] = [];
  let lines = 0;
  // `...` ends a document, whatever the next file begins with
  for (const file of files) {
    const text = `# ${file}\n${(await readInputFile('FILE', file)).replace(/\n?$/, '\n')}...\n`;
    before.push([file, lines + 1]);
    texts.push(text);
    lines += text.split('\n').length - 1;
  }
  return { text: texts.join(''), describePlaces: (message) => placesIn(message, before) };
}

/** @param before each file, and how many lines of the text stand before its first one */
function placesIn(message: string, before: readonly (readonly [string, number])[]): string {
  return message.replaceAll(/document \d+, line (\d+), column (\d+)/g, (place, line: string, column: string) => {
    const [file, above] = before.findLast(([, count]) => Number(line) > count) ?? [];
    return file === undefined || above === undefined ? place : `${file}:${Number(line) - above}:${column}`;
  });
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
