import { open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import type { ProbedPartition } from '#agent/storage/lsblk.ts';
import type { Run } from '#shared/process/run.ts';

/** Boot loaders whose configuration is read. */
export type LoaderKind = 'GRUB' | 'systemd-boot';

/** A whole-disk image's system, which brings its boot loader. */
export interface WholeDiskSystem {
  readonly partitions: readonly ProbedPartition[];
  /** The loader that the machine starts; `undefined` = another, or not known. */
  readonly loader: LoaderKind | undefined;
  /** Source of the configuration that a GRUB reads; absent = it can't be known. */
  readonly configured?: LoaderProgram | OwnGrub | undefined;
}

/** A program on an EFI system partition. */
interface LoaderProgram {
  readonly by: 'image';
  readonly device: string;
  readonly path: string;
}

/** A GRUB that reads the configuration in `/boot` of this root file system. */
interface OwnGrub {
  readonly by: 'Baton';
  readonly root: string;
}

/** Proves that such a loader finds its kernel; answers warnings. @throws AppError where it is certain that it doesn't */
export type ProveKernel = (run: Run, system: WholeDiskSystem) => Promise<readonly string[]>;

/** GRUB's core and systemd-boot's own section are near the beginning; a unified image has more. */
const readBytes = 2 * 1024 * 1024;
const words: readonly (readonly [Buffer, LoaderKind | 'shim'])[] = [
  [Buffer.from('Welcome to GRUB!'), 'GRUB'],
  [Buffer.from('LoaderInfo: systemd-boot'), 'systemd-boot'],
  // shim's second stage, whatever is put in there
  [Buffer.from('\\grub', 'utf16le'), 'shim'],
];

/**
 * Tells which loader a program of an EFI system partition is by its content, as the removable path and GRUB's place have
 * any: shim's is that beside it. `undefined` = another, or not known.
 * @param root the mounted partition
 * @param path `\EFI\debian\shimx64.efi`
 */
export async function findLoader(root: string, path: string): Promise<StartedLoader | undefined> {
  const first = path.replaceAll('\\', '/');
  const suffix = /(x64|ia32|aa64|riscv64)[^/]*$/i.exec(first)?.[1] ?? '';
  for (const file of [first, `${dirname(first)}/grub${suffix}.efi`]) {
    const kind = await kindOf(root, file);
    if (kind !== 'shim') return kind && { kind, file };
  }
  return undefined;
}

/** A known loader, and the file on the EFI system partition that it is. */
interface StartedLoader {
  readonly kind: LoaderKind;
  readonly file: string;
}

async function kindOf(root: string, path: string): Promise<LoaderKind | 'shim' | undefined> {
  const head = await readHead(await resolveInside(root, path));
  const kinds = words.flatMap(([word, kind]) => (head.includes(word) ? [kind] : []));
  return kinds.length === 1 ? kinds[0] : undefined;
}

async function readHead(path: string): Promise<Buffer> {
  try {
    await using handle = await open(path);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(readBytes));
    return buffer.subarray(0, bytesRead);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return Buffer.alloc(0);
    throw error;
  }
}

/** Tells which loader the first sector of a disk starts. Pure. */
export function bootSectorKind(sector: Buffer): LoaderKind | undefined {
  return sector.subarray(0, 440).includes('GRUB ') ? 'GRUB' : undefined;
}
