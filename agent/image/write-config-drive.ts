import { open } from 'node:fs/promises';
import type { AgentContext } from '#agent/context.ts';
import { decodeConfigDrive, maxConfigDriveTextBytes } from '#agent/image/config-drive.ts';
import { openExclusive } from '#agent/image/disk.ts';
import { type FetchOptions, fetchSmall } from '#agent/image/fetch-small.ts';
import { createSlotPool } from '#agent/image/slot-pool.ts';
import type { Partition, ProbedPartition } from '#agent/storage/lsblk.ts';
import { addLastMsdosPartition } from '#agent/storage/parted.ts';
import { probePartitions, readPartitionTable } from '#agent/storage/partition-table.ts';
import { addLastGptPartition } from '#agent/storage/sgdisk.ts';
import { rereadPartitions } from '#agent/storage/wait-for-udev.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

type Context = Pick<AgentContext, 'run' | 'log' | 'signal' | 'reportProgress'>;

/** What cloud-init looks for. */
const label = 'config-2';
const partitionMib = 64;

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
    const partition = partitions.find(isConfigDrive) ?? (await addPartition(run, deviceName, partitions));
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
  return [partition.fsLabel, partition.partLabel].some((each) => each?.toLowerCase() === label);
}

async function addPartition(run: Run, deviceName: string, before: readonly Partition[]): Promise<Partition> {
  if ((await tableKind(deviceName)) === 'gpt') await addLastGptPartition(run, deviceName, partitionMib, label);
  else await addLastMsdosPartition(run, deviceName, partitionMib);
  await rereadPartitions(run, deviceName);
  const known = new Set(before.map(({ number }) => number));
  const added = (await probePartitions(run, deviceName)).filter(({ number }) => !known.has(number));
  if (added.length !== 1 || added[0] === undefined) {
    throw new AppError('storage_error', `${added.length} new partitions on ${deviceName} where one was made`);
  }
  return added[0];
}

async function tableKind(name: string): Promise<string> {
  const handle = await open(name, 'r');
  try {
    const head = Buffer.alloc(8192);
    await handle.read(head, 0, head.length, 0);
    return readPartitionTable(head).kind;
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
