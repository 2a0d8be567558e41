import { mkdtemp, open, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBootEntry, deleteBootEntry, readBootEntries, setBootOrder } from '#agent/boot/efibootmgr.ts';
import { findEsp } from '#agent/boot/find-esp.ts';
import { findLoaders, type Loader } from '#agent/boot/find-loaders.ts';
import { readBootMode } from '#agent/boot/read-boot-mode.ts';
import type { AgentContext } from '#agent/context.ts';
import type { BlockDevice, Partition } from '#agent/storage/block-device.ts';
import { chooseRootDevice } from '#agent/storage/choose-root-device.ts';
import { listBlockDevices } from '#agent/storage/list-block-devices.ts';
import { readPartitionTable } from '#agent/storage/partition-table.ts';
import { probePartitions } from '#agent/storage/probe-partitions.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Parameters of `image.install_bootloader` (agent-protocol.md §4.1). */
export interface BootloaderParams {
  /** A disk identifier (`0x…`) for whole-disk images; a file system's uuid for partition images. */
  readonly root_uuid?: string | null | undefined;
  readonly efi_system_part_uuid?: string | null | undefined;
  readonly prep_boot_part_uuid?: string | null | undefined;
  readonly target_boot_mode: 'bios' | 'uefi';
  readonly ignore_bootloader_failure?: boolean | null | undefined;
}

type Context = Pick<AgentContext, 'run' | 'log' | 'node' | 'writtenImage'>;

/**
 * Makes the machine boot the disk that was written (agent-protocol.md §6.4). UEFI: a boot entry for the loader on the
 * disk's EFI system partition, first in the order. BIOS: the image brings its boot code; that it is there is checked.
 * @throws AppError `not_found` (no EFI system partition, no loader, no boot code), `not_supported` for partition
 * images; none of these when failures are to be ignored.
 */
export async function installBootloader(context: Context, params: BootloaderParams): Promise<void> {
  try {
    refusePartitionImage(params);
    const device = await findWrittenDisk(context);
    if (params.target_boot_mode === 'uefi') await installUefi(context, device);
    else await checkBootCode(device);
  } catch (error) {
    if (!params.ignore_bootloader_failure) throw error;
    context.log.warn({ err: error }, 'boot loader not installed, as the conductor allows');
  }
}

function refusePartitionImage(params: BootloaderParams): void {
  const wholeDisk = !params.root_uuid || params.root_uuid.startsWith('0x');
  if (wholeDisk && !params.efi_system_part_uuid && !params.prep_boot_part_uuid) return;
  throw new AppError(
    'not_supported',
    'boot loaders are only installed for whole-disk images, not for partition images',
  );
}

/** The disk of this boot's image; after an agent restart, the one that the hints choose. */
async function findWrittenDisk(context: Context): Promise<BlockDevice> {
  await waitForUdev(context.run);
  const devices = await listBlockDevices(context.run);
  const name = context.writtenImage.current?.device;
  const written = devices.find((device) => device.name === name);
  return written ?? chooseRootDevice(devices, context.node);
}

async function installUefi(context: Context, device: BlockDevice): Promise<void> {
  if ((await readBootMode()) !== 'uefi') {
    throw new AppError(
      'conflict',
      'a UEFI boot entry is wanted, but this ramdisk was booted by a BIOS: there are no EFI variables',
    );
  }
  const esp = findEsp(device.name, await probePartitions(context.run, device.name));
  const loaders = await withMounted(context.run, esp, findLoaders);
  await writeBootEntries(context.run, device, esp, loaders);
  context.log.info({ device: device.name, esp: esp.name, loaders }, 'boot entries written');
}

/** Entries for `loaders`, the first one first in the boot order; older ones of the same names go. */
export async function writeBootEntries(
  run: Run,
  device: Pick<BlockDevice, 'name'>,
  esp: Pick<Partition, 'number'>,
  loaders: readonly Loader[],
): Promise<void> {
  const labels = new Set(loaders.map(({ label }) => label));
  const before = await readBootEntries(run);
  for (const entry of before.entries.filter(({ label }) => labels.has(label))) await deleteBootEntry(run, entry.number);
  for (const loader of loaders) {
    await createBootEntry(run, {
      device: device.name,
      partition: esp.number,
      label: loader.label,
      loader: loader.path,
    });
  }
  const after = await readBootEntries(run);
  // some firmware puts new entries last, whatever efibootmgr asks for
  const ours = loaders.flatMap(({ label }) => after.entries.filter((entry) => entry.label === label));
  const numbers = ours.map(({ number }) => number);
  if (numbers.length < loaders.length) {
    throw new AppError('storage_error', `the firmware did not keep the boot entries ${[...labels].join(', ')}`);
  }
  const wanted = [...numbers, ...after.order.filter((number) => !numbers.includes(number))];
  if (wanted.join() !== after.order.join()) await setBootOrder(run, wanted);
}

async function withMounted<T>(run: Run, partition: Partition, use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'esp-'));
  try {
    await run('mount', ['-t', 'vfat', '-o', 'ro,nosuid,nodev,noexec', partition.name, folder]);
    try {
      return await use(folder);
    } finally {
      await run('umount', [folder]);
    }
  } finally {
    await rmdir(folder);
  }
}

/** A whole-disk image for BIOS brings its own boot code; without it the machine would just hang. */
async function checkBootCode(device: BlockDevice): Promise<void> {
  const handle = await open(device.name, 'r');
  try {
    const head = Buffer.alloc(8192);
    await handle.read(head, 0, head.length, 0);
    if (readPartitionTable(head).hasBootCode) return;
  } finally {
    await handle.close();
  }
  throw new AppError(
    'not_found',
    `disk ${device.name} has no boot code in its first sector: a BIOS can't boot the image`,
  );
}
