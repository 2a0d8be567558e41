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
