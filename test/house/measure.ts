import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { findOffences, folderOf } from './floors.ts';
import { circlesOf, countBackArrows, type Graph, graphOf, knotted } from './knots.ts';
import { isProduct, layers, listFiles, readSources, type Source } from './read-sources.ts';
import { findVerblessComments } from './sentences.ts';

export interface Measures {
  /** Folders of the conductor from which imports lead back to themselves, of how many. */
  readonly knots: { readonly folders: number; readonly byValue: string[]; readonly withTypes: string[] };
  /** Pairs of folders, and those that point upwards in the best order of folders. */
  readonly arrows: { readonly withTypes: number; readonly back: number };
  /** The same of all folders at any depth. */
  readonly subfolders: { readonly folders: number; readonly byValue: number; readonly withTypes: number };
  /**
   * Circles of imports, types counted, in all programs: groups of rooms, which are folders with the files beside them (a file
   * beside a program's folders is a room of its own), and groups of files.
   */
  readonly circles: { readonly rooms: number; readonly files: number };
  /** The folder with the most files of the program beside each other. */
  readonly largestFolder: { readonly folder: string; readonly files: number };
  /** Imports that the tables of floors forbid. */
  readonly offences: number;
  /** The program: no tests. */
  readonly product: { readonly lines: number; readonly files: number; readonly smallOfOneImporter: number };
  /** Successful JSON answers in the OpenAPI document, and those of them that it gives no schema. */
  readonly answers: { readonly all: number; readonly withoutSchema: number };
  /** Where the CLI says of JSON what it is, instead of reading it by a schema; loops in which a retry is written by hand. */
  readonly byHand: { readonly casts: number; readonly retries: number };
  /** Functions whose doc comment does not begin with a verb in the third person. */
  readonly comments: { readonly withoutVerb: number };
  /** All `.md` files: those that people wrote, and those that `npm run docs` writes from the sources. */
  readonly documents: { readonly files: number; readonly words: number; readonly generatedWords: number };
}

/** Counts over the sources of a clone. */
export async function measureHouse(root: string): Promise<Measures> {
  const sources = (await readSources(root)).filter(isProduct);
  const conductor = sources.filter(({ path }) => path.startsWith('conductor/'));
  const byValue = folderGraph(conductor, folderOf, ({ imports }) => imports);
  const all = ({ imports, typeImports }: Source) => [...imports, ...typeImports];
  const withTypes = folderGraph(conductor, folderOf, all);
  const deepByValue = folderGraph(conductor, dirname, ({ imports }) => imports);
  const deepWithTypes = folderGraph(conductor, dirname, all);
  const documents = await Promise.all(['docs', ...layers].map((folder) => listFiles(root, folder, '.md')));
  const files = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', ...documents.flat()];
  const isGenerated = (file: string): boolean => file.startsWith('docs/reference/');
  const wordsOf = async (some: readonly string[]): Promise<number> =>
    countWords((await Promise.all(some.map((file) => readFile(join(root, file), 'utf8')))).join(' '));
  return {
    knots: { folders: withTypes.size, byValue: knotted(byValue), withTypes: knotted(withTypes) },
    arrows: { withTypes: sizeOf(withTypes), back: countBackArrows(withTypes) },
    subfolders: {
      folders: deepWithTypes.size,
      byValue: knotted(deepByValue).length,
      withTypes: knotted(deepWithTypes).length,
    },
    circles: countCircles(sources),
    largestFolder: findLargestFolder(sources),
    offences: findOffences(conductor).length + findOffences(sources, 'agent').length,
    product: {
      lines: sources.reduce((sum, { text }) => sum + text.split('\n').length - 1, 0),
      files: sources.length,
      smallOfOneImporter: countSmallOfOneImporter(sources),
    },
    answers: await countAnswers(join(root, 'conductor/http/openapi.json')),
    byHand: {
      casts: countMatches(sources, 'conductor/cli/', /^(?!import).*[)\w\]] as [A-Z]\w*[a-z]\w*(?=[)\];,[<]| \|)/gm),
      retries: countMatches(sources, '', /\bfor \((?:let|const) (?:attempt|tries)\b/g) - 1, // that of shared/retry.ts
    },
    comments: { withoutVerb: findVerblessComments(sources).length },
    documents: {
      files: files.length,
      words: await wordsOf(files.filter((file) => !isGenerated(file))),
      generatedWords: await wordsOf(files.filter(isGenerated)),
    },
  };
}

const DescribedAnswer = z.object({
  content: z.record(z.string(), z.object({ schema: z.unknown().optional() })).optional(),
});
const DescribedApi = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.object({ responses: z.record(z.string(), DescribedAnswer) }))),
});

async function countAnswers(document: string): Promise<Measures['answers']> {
  const { paths } = DescribedApi.parse(JSON.parse(await readFile(document, 'utf8')));
  const answers = Object.values(paths)
    .flatMap((operations) => Object.values(operations))
    .flatMap(({ responses }) => Object.entries(responses))
    .filter(([status]) => status.startsWith('2'))
    .flatMap(([, { content }]) => content?.['application/json'] ?? []);
  return { all: answers.length, withoutSchema: answers.filter(({ schema }) => schema === undefined).length };
}

function countMatches(sources: readonly Source[], folder: string, pattern: RegExp): number {
  const inFolder = sources.filter(({ path }) => path.startsWith(folder));
  return inFolder.reduce((sum, { text }) => sum + (text.match(pattern)?.length ?? 0), 0);
}

/** Counts what stands between white space and has a letter or digit: no bars of tables, bullets or rules. */
function countWords(text: string): number {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

function folderGraph(
  sources: readonly Source[],
  folder: (path: string) => string,
  importsOf: (source: Source) => readonly string[],
): Graph {
  const inFolders = sources.filter(({ path }) => path.split('/').length > 2);
  const paths = new Set(inFolders.map(({ path }) => path));
  return graphOf(
    inFolders.flatMap((source) => [
      [folder(source.path), folder(source.path)] as const,
      ...importsOf(source)
        .filter((name) => paths.has(name))
        .map((name) => [folder(source.path), folder(name)] as const),
    ]),
  );
}

/** Counts groups of rooms, and of files, from which imports lead back to themselves. */
export function countCircles(sources: readonly Source[]): Measures['circles'] {
  const paths = new Set(sources.map(({ path }) => path));
  const arrows = sources.flatMap(({ path, imports, typeImports }) =>
    [...new Set([...imports, ...typeImports])].filter((name) => paths.has(name)).map((name) => [path, name] as const),
  );
  const roomOf = (path: string): string => (path.split('/').length > 2 ? dirname(path) : path);
  const rooms = graphOf(arrows.map(([from, to]) => [roomOf(from), roomOf(to)] as const));
  return { rooms: circlesOf(rooms).length, files: circlesOf(graphOf(arrows)).length };
}

/** Finds the folder with the most files beside each other, those of its subfolders not counted. */
export function findLargestFolder(sources: readonly Pick<Source, 'path'>[]): Measures['largestFolder'] {
  const folders = Map.groupBy(sources, ({ path }) => dirname(path));
  return [...folders]
    .map(([folder, { length }]) => ({ folder, files: length }))
    .reduce((a, b) => (b.files > a.files ? b : a), { folder: '', files: 0 });
}

const sizeOf = (graph: Graph): number => [...graph.values()].reduce((sum, { size }) => sum + size, 0);

/** Files of less than 30 lines whose only importer lies beside them. */
function countSmallOfOneImporter(sources: readonly Source[]): number {
  const importers = Map.groupBy(
    sources.flatMap(({ path, imports, typeImports }) =>
      [...new Set([...imports, ...typeImports])].map((name) => ({ path, name })),
    ),
    ({ name }) => name,
  );
  return sources.filter(({ path, text }) => {
    const [first, ...others] = importers.get(path) ?? [];
    return first && others.length === 0 && dirname(first.path) === dirname(path) && text.split('\n').length - 1 < 30;
  }).length;
}
