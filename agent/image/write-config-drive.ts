import { open } from 'node:fs/promises';
import type { AgentContext } from '#agent/context.ts';
import { decodeConfigDrive, maxConfigDriveTextBytes } from '#agent/image/config-drive.ts';
import { createSlotPool, slotBytes } from '#agent/image/decode/slot-pool.ts';
import { withEntries } from '#agent/image/disk/check-table.ts';
import { driveLabel, drivePartitionMib, isDriveLabel, requireDriveRoom } from '#agent/image/disk/config-drive-room.ts';
import { openExclusive } from '#agent/image/disk/disk.ts';
import { type FetchOptions, fetchSmall } from '#agent/image/fetch/fetch-small.ts';
import { grownSlots, isFull, readTables } from '#agent/storage/disk-tables.ts';
import { type Partition, type ProbedPartition, runLsblk } from '#agent/storage/lsblk.ts';
import { addLastMbrEntry } from '#agent/storage/mbr-entry.ts';
import { probePartitions } from '#agent/storage/partition-table.ts';
import { addLastGptPartition } from '#agent/storage/sgdisk.ts';
import { rereadPartitions } from '#agent/storage/wait-for-udev.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

type Context = Pick<AgentContext, 'run' | 'log' | 'signal' | 'reportProgress'>;

/** The file system image of a config drive given as text or as an http(s) URL. @throws AppError as `decodeConfigDrive`. */
export async function fetchConfigDrive(value: string, options: FetchOptions): Promise<Buffer> {
  if (!/^https?:\/\//.test(value)) return decodeConfigDrive(value);
  return decodeConfigDrive(await fetchSmall(value, 'the config drive', maxConfigDriveTextBytes, options));
}

/**
 * Writes a config drive to the partition labelled `config-2`, or to a new one of 64 MiB at the end of the disk, and
 * reads it back (agent-protocol.md §6.3).
 * @returns the partition: `/dev/vda4`
 * @throws AppError `storage_error` naming the disk or partition.
 */
export async function writeConfigDrive(context: Context, deviceName: string, image: Buffer): Promise<string> {
  const { run } = context;
  try {
    const partitions = await probePartitions(run, deviceName);
    const [labelled, ...others] = partitions.filter(isConfigDrive);
    if (others.length > 0) {
      const names = partitions.filter(isConfigDrive).map(({ name }) => name);
      throw new AppError('storage_error', `several partitions are labelled ${driveLabel}: ${names.join(', ')}`);
    }
    const partition = labelled ?? (await addPartition(run, deviceName, partitions, image));
    await fill(context, deviceName, partition, image);
    return partition.name;
  } catch (cause) {
    throw new AppError('storage_error', `write the config drive to ${deviceName}`, { cause });
  }
}

/** The same, to a partition that was made for it. @throws AppError `storage_error` */
export async function writeConfigDriveTo(
  context: Context,
  place: { readonly name: string; readonly disk: string },
  image: Buffer,
): Promise<void> {
  try {
    const partition = (await probePartitions(context.run, place.disk)).find(({ name }) => name === place.name);
    if (partition === undefined) throw new AppError('not_found', `there is no partition ${place.name}`);
    await fill(context, place.disk, partition, image);
  } catch (cause) {
    throw new AppError('storage_error', `write the config drive to ${place.name}`, { cause });
  }
}

async function fill(context: Context, deviceName: string, partition: Partition, image: Buffer): Promise<void> {
  const { run } = context;
  context.reportProgress({ phase: 'writing config drive' });
  if (image.length > partition.sizeBytes) {
    throw new AppError(
      'storage_error',
      `partition ${partition.name} has ${partition.sizeBytes} bytes, too few for ${image.length}`,
    );
  }
  await run('wipefs', ['--all', '--force', partition.name]);
  await writeBytes(partition.name, image);
  await run('blockdev', ['--flushbufs', partition.name]);
  await verify(partition.name, image);
  await rereadPartitions(run, deviceName);
  context.log.info({ partition: partition.name, bytes: image.length }, 'config drive written');
}

function isConfigDrive(partition: ProbedPartition): boolean {
  return isDriveLabel(partition.fsLabel) || isDriveLabel(partition.partLabel);
}

async function addPartition(
  run: Run,
  deviceName: string,
  before: readonly Partition[],
  image: Buffer,
): Promise<Partition> {
  await addToTable(run, deviceName, image);
  await rereadPartitions(run, deviceName);
  const known = new Set(before.map(({ number }) => number));
  const added = (await probePartitions(run, deviceName)).filter(({ number }) => !known.has(number));
  if (added.length !== 1 || added[0] === undefined) {
    throw new AppError('storage_error', `${added.length} new partitions on ${deviceName} where one was made`);
  }
  return added[0];
}

async function addToTable(run: Run, deviceName: string, image: Buffer): Promise<void> {
  const [disk] = await runLsblk(run, [deviceName]);
  if (disk === undefined) throw new AppError('not_found', `disk ${deviceName} is missing`);
  const look = (offset: number, bytes: number): Promise<Buffer> => readAt(deviceName, offset, bytes);
  const rest = { imageBytes: disk.sizeBytes, look };
  const tables = readTables(await look(0, slotBytes));
  const gpts = tables.kind === 'gpt' ? tables.gpts : [];
  const found = gpts.find(({ sectorBytes }) => sectorBytes === disk.logicalSectorBytes);
  if (found) {
    const gpt = await withEntries(found, rest);
    await requireDriveRoom({ kind: 'gpt', gpt, entries: gpt.entries }, disk, image, rest);
    const growTo = isFull(gpt) ? grownSlots : undefined;
    await addLastGptPartition(run, deviceName, { sizeMb: drivePartitionMib, name: driveLabel, growTo });
  } else if (tables.kind === 'msdos') {
    await requireDriveRoom({ kind: 'msdos', entries: tables.mbr }, disk, image, rest);
    await addLastMbrEntry(disk, tables.mbr, drivePartitionMib * 1024 * 1024);
  } else {
    const has = tables.kind === 'unknown' ? ` (it has ${tables.is})` : '';
    throw new AppError(
      'storage_error',
      `${deviceName} has no partition table that a partition could be added to${has}`,
    );
  }
}

async function readAt(name: string, offset: number, bytes: number): Promise<Buffer> {
  const handle = await open(name, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, offset);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

async function writeBytes(name: string, image: Buffer): Promise<void> {
  const handle = await open(name, 'r+');
  try {
    await handle.writeFile(image);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Reads around the page cache: what the disk holds, not what the kernel was given. */
async function verify(name: string, image: Buffer): Promise<void> {
  const slot = await createSlotPool(1).acquire();
  const handle = await openExclusive(name);
  try {
    for (let at = 0; at < image.length; at += slot.bytes.length) {
      const wanted = image.subarray(at, at + slot.bytes.length);
      await handle.read(slot.bytes, 0, slot.bytes.length, at);
      if (!slot.bytes.subarray(0, wanted.length).equals(wanted)) {
        throw new AppError('storage_error', `partition ${name} holds other bytes than were written, near byte ${at}`);
      }
    }
  } finally {
    await handle.close();
  }
}
