import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

export const layers = ['shared', 'agent', 'conductor', 'image-build', 'test'] as const;

export interface Source {
  /** `conductor/nodes/node-store.ts` */
  readonly path: string;
  readonly text: string;
  /** Imports that exist at run time: project files by path, packages by name. */
  readonly imports: readonly string[];
  /** Imports that are there for the compiler alone. */
  readonly typeImports: readonly string[];
}

const statement = /^(?:import|export)\b(?<type> type\b)?(?<names>[^;']*?)\bfrom '(?<from>[^']+)'/gms;
const atRunTime = /^import '([^']+)'|\bimport\('([^']+)'\)/gm;

/** Every source below `root`: of the program, its tests and what builds it. */
export async function readSources(root: string): Promise<Source[]> {
  const files = await Promise.all(layers.map((layer) => listFiles(root, layer, '.ts')));
  return Promise.all(
    files.flat().map(async (path) => {
      const text = await readFile(join(root, path), 'utf8');
      const pathOf = (name: string) => (name.startsWith('.') ? join(dirname(path), name) : name.replace(/^#/, ''));
      const statements = [...text.matchAll(statement)].map(({ groups = {} }) => ({
        name: pathOf(groups['from'] ?? ''),
        isType: groups['type'] !== undefined || namesTypesAlone(groups['names'] ?? ''),
      }));
      const others = [...text.matchAll(atRunTime)].map((match) => pathOf(match[1] ?? match[2] ?? ''));
      return {
        path,
        text,
        imports: [...statements.filter(({ isType }) => !isType).map(({ name }) => name), ...others],
        typeImports: statements.filter(({ isType }) => isType).map(({ name }) => name),
      };
    }),
  );
}

/** `{ type A, type B }`: nothing of it is left at run time. */
function namesTypesAlone(names: string): boolean {
  const inBraces = /^\s*\{([^}]*)\}\s*$/.exec(names)?.[1];
  const parts = (inBraces ?? '').split(',').filter((part) => part.trim() !== '');
  return parts.length > 0 && parts.every((part) => part.trim().startsWith('type '));
}

export async function listFiles(root: string, folder: string, ending: string): Promise<string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
}

/** Recognizes what is shipped or builds it, as opposed to what tests it. */
export function isProduct({ path }: Pick<Source, 'path'>): boolean {
  return !path.startsWith('test/') && !path.includes('/testing/') && !/\.(test|contract)\.ts$/.test(path);
}
