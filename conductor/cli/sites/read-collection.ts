import { readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { LineCounter, parseAllDocuments } from 'yaml';
import { readInputFile } from '#conductor/cli/shell/input-files.ts';
import type { FileOf } from '#conductor/cli/shell/render-status.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';

/** A text that is uploaded, and how its faults are reported. */
export interface CollectionText {
  readonly text: string;
  /** `document 3, line 17, column 5` → `racks/r1.yaml:12:5`; what names no such place stays. */
  describePlaces(message: string): string;
  /** `racks/r1.yaml:7`, where the document begins. */
  readonly fileOf: FileOf;
}

/**
 * Files of documents as the one text that is uploaded; of a directory all `.yaml` and `.yml` files below it, by name,
 * but those whose name begins with a dot. A single file is sent byte for byte.
 * @throws AppError `invalid_argument` naming what can't be read.
 */
export async function readCollection(names: readonly string[]): Promise<CollectionText> {
  const files = (await Promise.all(names.map(listFiles))).flat();
  const [only] = files;
  if (only === undefined) throw usageError(`${names.join(', ')}: no .yaml or .yml file in it`);
  if (files.length === 1) return withPlaces(await readInputFile('FILE', only), [[only, 0]]);
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
  return withPlaces(texts.join(''), before);
}

/** @param before each file, and how many lines of the text stand before its first one */
function withPlaces(text: string, before: readonly (readonly [string, number])[]): CollectionText {
  const placeOf = (line: number): string | undefined => {
    const [file, above] = before.findLast(([, count]) => line > count) ?? [];
    return file === undefined || above === undefined ? undefined : `${file}:${line - above}`;
  };
  const found: { places?: ReadonlyMap<string, string> } = {};
  return {
    text,
    describePlaces: (message) =>
      message.replaceAll(/document \d+, line (\d+), column (\d+)/g, (place, line: string, column: string) => {
        const known = placeOf(Number(line));
        return known === undefined ? place : `${known}:${column}`;
      }),
    fileOf: ({ schema, name }) => {
      // only once there is a fault: a large site takes a second
      found.places ??= findDocuments(text, placeOf);
      return found.places.get(`${schema}/${name}`);
    },
  };
}

function findDocuments(text: string, placeOf: (line: number) => string | undefined): Map<string, string> {
  const lines = new LineCounter();
  const places = new Map<string, string>();
  for (const document of parseAllDocuments(text, { lineCounter: lines })) {
    const start = document.contents?.range?.[0];
    const place = start === undefined ? undefined : placeOf(lines.linePos(start).line);
    const key = `${String(document.get('schema'))}/${String(document.getIn(['metadata', 'name']))}`;
    if (place !== undefined && !places.has(key)) places.set(key, place);
  }
  return places;
}

/** Links below directories, which are not followed. */
export async function findLinks(directories: readonly string[]): Promise<string[]> {
  const entries = await Promise.all(directories.map((name) => readdir(name, { recursive: true, withFileTypes: true })));
  return entries.flat().flatMap((entry) => (entry.isSymbolicLink() ? [join(entry.parentPath, entry.name)] : []));
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
    .filter(
      (file) =>
        !relative(name, file)
          .split(sep)
          .some((part) => part.startsWith('.')),
    )
    .sort((a, b) => a.localeCompare(b));
}
