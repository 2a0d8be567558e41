import { open } from 'node:fs/promises';
import { z } from 'zod';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { rereadPartitions } from '#agent/storage/wait-for-udev.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

const mebibyte = 1024 * 1024;

/** Removes partition tables, signatures and superblocks, so that nothing recognises what was on the disk. */
export async function wipeDisk(run: Run, disk: BlockDevice): Promise<void> {
  // partitions first: a file system's signature would come back with the next table that has a partition there
  for (const partition of disk.partitions) await run('wipefs', ['--all', '--force', partition.name]);
  await run('wipefs', ['--all', '--force', disk.name]);
  await zeroEnds(disk);
  await rereadPartitions(run, disk.name);
}

/**
 * Zeros the first MiB, which holds boot code and GPT, and the last one, with the backup GPT and the superblocks of
 * md 0.9 and 1.0. After that no firmware boots the disk.
 */
export async function zeroEnds(disk: Pick<BlockDevice, 'name' | 'sizeBytes'>): Promise<void> {
  const zeros = Buffer.alloc(Math.min(mebibyte, disk.sizeBytes));
  const handle = await open(disk.name, 'r+');
  try {
    await handle.write(zeros, 0, zeros.length, 0);
    await handle.write(zeros, 0, zeros.length, disk.sizeBytes - zeros.length);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const Listing = z.object({ signatures: z.array(z.object({ type: z.string() })) });

/**
 * Reads what a disk or partition is known by, as `wipefs` names it, each once: `ext4`, `LVM2_member`, `gpt`, `PMBR`.
 * Unlike `blkid` it reports all of them where several contradict each other. Changes nothing.
 * @throws AppError `command_failed` when it can't be read; `storage_error`
 */
export async function readSignatures(run: Run, device: string): Promise<readonly string[]> {
  const { stdout } = await run('wipefs', ['--json', device]);
  if (stdout.trim() === '') return [];
  try {
    return [...new Set(Listing.parse(JSON.parse(stdout)).signatures.map(({ type }) => type))];
  } catch (cause) {
    throw new AppError('storage_error', `parse what wipefs reports for ${device}`, { cause });
  }
}
