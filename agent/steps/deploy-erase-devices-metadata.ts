import { z } from 'zod';
import type { AgentContext } from '#agent/context.ts';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { listBlockDevices } from '#agent/storage/list-block-devices.ts';
import { readSkipList } from '#agent/storage/skip-list.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { wipeDisk } from '#agent/storage/wipe-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';
import { defineStep } from '#shared/steps/define-step.ts';

/**
 * Makes every disk look empty: signatures of partitions and disks, both copies of the partition table, RAID
 * superblocks, the first and the last MiB. What the disks hold stays readable to who searches for it.
 */
export const eraseDevicesMetadata = defineStep<AgentContext, Record<string, never>>({
  interface: 'deploy',
  step: 'erase_devices_metadata',
  priority: 0,
  description: 'Wipes partition tables, file system signatures and RAID superblocks of all disks',
  abortable: true,
  args: z.strictObject({}),
  run: async (context) => {
    await waitForUdev(context.run);
    const erased = await eraseMetadata(context, (run) => listBlockDevices(run));
    return { kind: 'done', output: { erased } };
  },
});

/** The names of the disks that were wiped. `list` is asked again whenever the devices have changed. */
export async function eraseMetadata(
  context: Pick<AgentContext, 'run' | 'log' | 'node' | 'reportProgress' | 'writtenImage'>,
  list: (run: Run) => Promise<readonly BlockDevice[]>,
): Promise<readonly string[]> {
  const { run, log } = context;
  const isSkipped = readSkipList(context.node.properties);
  const candidates = (await list(run)).filter(isErasable);
  const disks = candidates.filter((disk) => !isSkipped(disk));
  // before the first disk is touched: an error must not leave some disks wiped for no reason
  for (const disk of disks) refuseInUse(disk, candidates.filter(isSkipped));
  await stopArrays(run, disks);
  // from here on no write step may answer that its image is already there
  context.writtenImage.current = undefined;
  for (const disk of disks) {
    context.reportProgress({ phase: `erasing metadata of ${disk.name}` });
    log.info({ disk: disk.name, partitions: disk.partitions.length }, 'erasing metadata');
    try {
      await wipeDisk(run, disk);
    } catch (cause) {
      throw new AppError('storage_error', `erase the metadata of ${disk.name}`, { cause });
    }
  }
  const after = new Map((await list(run)).map((device) => [device.name, device]));
  for (const disk of disks) await verifyErased(run, after.get(disk.name) ?? disk);
  return disks.map(({ name }) => name);
}

function isErasable(device: BlockDevice): boolean {
  const isMemory = /^\/dev\/z?ram\d/.test(device.name);
  return device.type === 'disk' && !isMemory && !device.readOnly && !device.removable && device.sizeBytes > 0;
}

function refuseInUse(disk: BlockDevice, skipped: readonly BlockDevice[]): void {
  if (disk.mountpoints.length > 0) {
    throw new AppError('storage_error', `${disk.name} is in use: mounted on ${disk.mountpoints.join(', ')}`);
  }
  for (const holder of disk.holders) {
    if (!holder.startsWith('/dev/md')) {
      throw new AppError('storage_error', `${disk.name} is in use by ${holder}, which is no RAID array to stop`);
    }
    const sharer = skipped.find(({ holders }) => holders.includes(holder));
    if (sharer) {
      throw new AppError(
        'storage_error',
        `${disk.name} and ${sharer.name}, which is to be skipped, are both in ${holder}`,
      );
    }
  }
}

/** A running array writes its superblocks again as long as it runs, and holds its members. */
async function stopArrays(run: Run, disks: readonly BlockDevice[]): Promise<void> {
  const holders = new Set(disks.flatMap((disk) => disk.holders));
  for (const holder of holders) await run('mdadm', ['--stop', holder]);
  if (holders.size > 0) await waitForUdev(run);
}

async function verifyErased(run: Run, disk: BlockDevice): Promise<void> {
  const { stdout } = await run('wipefs', ['--noheadings', '--output', 'OFFSET,TYPE', disk.name]);
  const found = [
    ...stdout.split('\n').map((line) => line.trim().replaceAll(/\s+/g, ' ')),
    ...disk.partitions.map(({ name }) => `partition ${name}`),
  ].filter(Boolean);
  if (found.length > 0) {
    throw new AppError('storage_error', `${disk.name} still shows ${found.join(', ')} after its metadata was erased`);
  }
}
