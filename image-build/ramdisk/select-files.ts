import { readFile, realpath } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Where the dynamic linker looks without a cache file, in the merged /usr. */
const libraryFolders = ['usr/lib/x86_64-linux-gnu', 'usr/lib'];

/**
 * The shared libraries that ELF files need, and what those need, as paths inside the tree, sorted. Both the name that
 * is asked for (`libm.so.6`) and the file behind it are listed when they differ.
 * @param files absolute paths of programs; scripts and static programs are fine
 * @throws AppError `not_found` when the tree lacks a library: a package is missing in the recipe
 */
export async function libraryClosure(run: Run, tree: string, files: readonly string[]): Promise<string[]> {
  const found = new Map<string, string>();
  let next = await elfFiles(files);
  while (next.length > 0) {
    // --wide: no line breaks in long names
    const { stdout } = await run('readelf', ['--wide', '--dynamic', ...next]);
    const wanted = parseNeeded(stdout).filter((name) => !found.has(name));
    next = [];
    for (const name of wanted) {
      const path = await findLibrary(tree, name);
      found.set(name, path);
      next.push(join(tree, path));
    }
  }
  const listed = [...found.values()];
  for (const path of found.values()) listed.push(relative(await realpath(tree), await realpath(join(tree, path))));
  return [...new Set(listed)].sort();
}

/** The names in `readelf --dynamic` lines like `0x… (NEEDED) Shared library: [libc.so.6]`. */
export function parseNeeded(text: string): string[] {
  return [...new Set([...text.matchAll(/\(NEEDED\)\s+Shared library: \[([^\]]+)\]/g)].map(([, name]) => name ?? ''))];
}

async function findLibrary(tree: string, name: string): Promise<string> {
  for (const folder of libraryFolders) {
    const path = join(folder, name);
    try {
      await realpath(join(tree, path));
      return path;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  throw new AppError('not_found', `no library ${name} in the packages of the ramdisk`);
}

async function elfFiles(files: readonly string[]): Promise<string[]> {
  const elf: string[] = [];
  for (const file of files) {
    const start = (await readFile(file)).subarray(0, 4);
    if (start.equals(Buffer.from('\x7fELF', 'latin1'))) elf.push(file);
  }
  return elf;
}

interface ModuleSelection {
  /** Folders or files below `kernel/`. */
  readonly paths: readonly string[];
  /** Tried on the path below `kernel/`; a module that another one depends on is taken all the same. */
  readonly exceptions: readonly RegExp[];
}

/**
 * The modules to ship with all that they depend on, as paths like `kernel/fs/ext4/ext4.ko`, sorted.
 * @param dependencies the text of `modules.dep` (`path: path path…`, depmod's format)
 * @param softDependencies the text of `modules.softdep` (`softdep ext4 pre: crc32c`)
 * @throws AppError `not_found` when a path selects nothing: the kernel has moved or dropped it
 */
export function selectModules(dependencies: string, softDependencies: string, selection: ModuleSelection): string[] {
  const needs = parseModulesDep(dependencies);
  const soft = parseSoftDependencies(softDependencies);
  const byName = new Map([...needs.keys()].map((path) => [moduleName(path), path]));
  const isExcepted = (path: string): boolean =>
    selection.exceptions.some((exception) => exception.test(path.slice('kernel/'.length)));
  const selected = new Set<string>();
  const add = (path: string): void => {
    if (selected.has(path)) return;
    selected.add(path);
    needs.get(path)?.forEach(add);
    for (const name of soft.get(moduleName(path)) ?? []) {
      const wanted = byName.get(name);
      if (wanted !== undefined && !isExcepted(wanted)) add(wanted);
    }
  };
  for (const wanted of selection.paths) {
    const found = [...needs.keys()].filter((path) => isAtOrBelow(path, `kernel/${wanted}`));
    if (found.length === 0) throw new AppError('not_found', `this kernel has no module at kernel/${wanted}`);
    found.filter((path) => !isExcepted(path)).forEach(add);
  }
  return [...selected].sort();
}

function isAtOrBelow(path: string, wanted: string): boolean {
  return path === wanted || path.startsWith(`${wanted}/`);
}

function parseModulesDep(text: string): Map<string, string[]> {
  const pairs = text
    .split('\n')
    .filter(Boolean)
    .map((line): [string, string[]] => {
      const [path = '', rest = ''] = line.split(':');
      return [path, rest.split(' ').filter(Boolean)];
    });
  return new Map(pairs);
}

function parseSoftDependencies(text: string): Map<string, string[]> {
  const soft = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [keyword, name, ...rest] = line.trim().split(/\s+/);
    if (keyword !== 'softdep' || name === undefined) continue;
    const names = rest.filter((word) => !word.endsWith(':')).map(moduleName);
    soft.set(moduleName(name), [...(soft.get(moduleName(name)) ?? []), ...names]);
  }
  return soft;
}

/** `kernel/crypto/crc32c_generic.ko` → `crc32c_generic`; the kernel treats - and _ alike. */
function moduleName(path: string): string {
  return path.replace(/^.*\//, '').replace(/\.ko$/, '').replaceAll('-', '_');
}
