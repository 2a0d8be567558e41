import { stat } from 'node:fs/promises';
import { resolveInside } from '#agent/inject/resolve-inside.ts';
import { findRootSubvolume } from '#agent/inject/root-subvolume.ts';
import { mountHarmless, withMounted } from '#agent/storage/file-systems/mount.ts';
import type { BlockDevice, ProbedPartition } from '#agent/storage/lsblk.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
import type { InjectedFile } from '#shared/in-band/injected-file.ts';
import type { Run } from '#shared/process/run.ts';

export interface ImageTarget {
  readonly name: string;
  readonly partitions: readonly ProbedPartition[];
}

/** Types that no file system stands on directly. */
const noFileSystem = /^(swap|LVM2_member|crypto_LUKS|linux_raid_member|.*_raid_member)$/i;

/** Place of a file. */
export interface FoundPartition {
  /** The device. */
  readonly name: string;
  /** Path of the subvolume of a btrfs that the system lives in; `undefined` for what Linux mounts by itself. */
  readonly subvolume: string | undefined;
}

/**
 * The device that a file belongs on: the partition that the operator named by number, device or label, else the first
 * one of the disk that has the path's first folder.
 * @param others all disks of the machine that may be touched, for a partition given as a device
 * @throws AppError `not_found` naming what was looked at; `conflict` where several subvolumes of a btrfs may be the root
 */
export async function findPartition(
  run: Run,
  file: Pick<InjectedFile, 'path' | 'partition'>,
  disk: ImageTarget,
  others: readonly BlockDevice[],
): Promise<FoundPartition> {
  if (file.partition === undefined) return searchPartition(run, file.path, disk);
  const wanted = namedPartition(String(file.partition), disk, others);
  const probed = disk.partitions.find(({ name }) => name === wanted);
  return { name: wanted, subvolume: await findRootSubvolume(run, { name: wanted, fsType: probed?.fsType }) };
}

/** Pure. */
export function namedPartition(wanted: string, disk: ImageTarget, others: readonly BlockDevice[]): string {
  const matching = wanted.startsWith('/dev/')
    ? others
        .flatMap((each) => [each.name, ...each.partitions.map(({ name }) => name)])
        .filter((name) => name === wanted)
    : disk.partitions
        .filter(({ number, fsLabel, partLabel }) =>
          /^\d+$/.test(wanted) ? number === Number(wanted) : fsLabel === wanted || partLabel === wanted,
        )
        .map(({ name }) => name);
  const [found, ...more] = new Set(matching);
  if (more.length > 0) {
    throw new AppError(
      'invalid_argument',
      `${[found, ...more].join(' and ')} are labelled ${wanted} alike: name the partition by its number`,
    );
  }
  if (found !== undefined) return found;
  const there = disk.partitions.map(
    ({ number, fsLabel, partLabel }) => `${number} (${[partLabel, fsLabel].filter(Boolean).join(', ') || 'no label'})`,
  );
  throw new AppError('not_found', `no partition ${wanted}: ${disk.name} has ${there.join(', ') || 'no partitions'}`);
}

async function searchPartition(run: Run, path: string, disk: ImageTarget): Promise<FoundPartition> {
  const folder = path.split('/').find(Boolean) ?? '';
  const looked: string[] = [];
  const candidates = disk.partitions.length > 0 ? disk.partitions : [{ name: disk.name, fsType: undefined }];
  for (const { name, fsType } of candidates) {
    if (fsType === null || noFileSystem.test(fsType ?? '')) {
      looked.push(`${name} (no file system)`);
      continue;
    }
    try {
      const subvolume = await findRootSubvolume(run, { name, fsType });
      const isHere = await withMounted(run, name, mountHarmless('ro', subvolume), (root) => hasFolder(root, folder));
      if (isHere) return { name, subvolume };
      looked.push(name);
    } catch (error) {
      if (errorCode(error) === 'conflict') throw error;
      // one that this kernel can't mount is not what is looked for
      looked.push(`${name} (${errorChain(error)})`);
    }
  }
  throw new AppError(
    'not_found',
    `no partition of ${disk.name} has a folder /${folder}: ${looked.join(', ') || 'none'}`,
  );
}

async function hasFolder(root: string, folder: string): Promise<boolean> {
  const path = await resolveInside(root, folder);
  const there = await stat(path).catch(() => undefined); // not there
  return there?.isDirectory() ?? false;
}
