import { chmod, lstat, lutimes, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { BuildContext } from '#image-build/build-context.ts';

/** Date of every file in the archive, 1970: nothing in the ramdisk reads it. */
const fileTime = 0;

/** `small`: to ship, some minutes of CPU time. `quick`: for tests; a fifth larger, made in seconds, and no slower to boot. */
export const compressions = ['small', 'quick'] as const;
export type Compression = (typeof compressions)[number];

/** A window of 128 MiB is the most that the kernel's decompressor takes. The number of threads decides the bytes. */
const zstdArguments: Readonly<Record<Compression, readonly string[]>> = {
  small: ['--ultra', '-22', '--zstd=wlog=27', '-T1'],
  quick: ['-5', '--zstd=wlog=23', '-T2'],
};

export interface Layer {
  readonly path: string;
  /** Bytes of the archive before compression. */
  readonly unpackedSize: number;
}

/**
 * Packs a directory as a compressed initramfs archive whose bytes depend on names, contents, links and modes alone:
 * sorted names, no owner, inode numbers counted from the start, one date. The kernel unpacks concatenated archives one
 * after the other, so an image is made of layers.
 * @param target the file to write, `….cpio.zst`
 */
export async function packLayer(
  context: BuildContext,
  stage: string,
  target: string,
  compression: Compression,
): Promise<Layer> {
  const names = await normalize(stage);
  const archive = `${target}.cpio`;
  await context.run(
    'cpio',
    ['--create', '--format=newc', '--null', '--reproducible', '--owner=0:0', '--quiet', '--file', archive],
    {
      cwd: stage,
      input: names.map((name) => `${name}\0`).join(''),
      timeoutMs: 300_000,
    },
  );
  await context.run('zstd', [...zstdArguments[compression], '--force', '--quiet', archive, '-o', `${target}.new`], {
    timeoutMs: 60 * 60_000,
  });
  const unpackedSize = (await stat(archive)).size;
  await rm(archive);
  await rename(`${target}.new`, target);
  return { path: target, unpackedSize };
}

/** Sets dates and modes; returns all names, sorted, folders before what is in them. */
async function normalize(stage: string): Promise<string[]> {
  // with file types it does not follow links to folders
  const entries = await readdir(stage, { recursive: true, withFileTypes: true });
  const names = entries.map((entry) => relative(stage, join(entry.parentPath, entry.name))).sort();
  for (const name of names) {
    const path = join(stage, name);
    const entry = await lstat(path);
    if (entry.isDirectory()) await chmod(path, 0o755);
    else if (entry.isFile()) await chmod(path, entry.mode & 0o111 ? 0o755 : 0o644);
    await lutimes(path, fileTime, fileTime);
  }
  return names;
}
