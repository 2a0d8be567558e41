import { release } from 'node:os';
import type { AgentContext } from '#agent/context.ts';
import { type Disk, openDisk, openExclusive } from '#agent/image/disk/disk.ts';
import { tooSmall } from '#agent/image/disk/disk-writer.ts';
import type { ImageTarget } from '#agent/image/disk/image-target.ts';
import { makeUnusable } from '#agent/image/disk/make-unusable.ts';
import type { ExpectedChecksum } from '#agent/image/fetch/expected-checksum.ts';
import { growFileSystem, makeEphemeral, makeEspFileSystem, makeSwap } from '#agent/image/fill-partitions.ts';
import type { RequestedPartitions } from '#agent/image/requested-partitions.ts';
import { transferOf } from '#agent/image/transfer-of.ts';
import { writeAgainIfReplaced } from '#agent/image/write-again.ts';
import { writeConfigDriveTo } from '#agent/image/write-config-drive.ts';
import { type WriteImageOptions, writeImage } from '#agent/image/write-image.ts';
import { digestHead, type WrittenImage } from '#agent/image-means/written-image.ts';
import { readTables } from '#agent/storage/disk-tables.ts';
import { nameFileSystem, readRootFileSystem, rootFileSystems } from '#agent/storage/file-systems/file-systems.ts';
import type { BlockDevice, ProbedPartition } from '#agent/storage/lsblk.ts';
import {
  checkSameLayout,
  type PartitionRole,
  type PlannedLayout,
  planPartitionLayout,
} from '#agent/storage/partition-layout.ts';
import { partitionName, probePartitions } from '#agent/storage/partition-table.ts';
import { readDiskTable, writeDiskTable } from '#agent/storage/sfdisk.ts';
import { rereadPartitions } from '#agent/storage/wait-for-udev.ts';
import { wipeDisk } from '#agent/storage/wipe-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { ImageInfo } from '#shared/in-band/image-info.ts';

type Context = Pick<AgentContext, 'run' | 'clock' | 'log' | 'signal' | 'reportProgress'>;

export interface PartitionImage {
  readonly info: ImageInfo;
  readonly checksum: ExpectedChecksum;
  readonly requested: RequestedPartitions;
  /** The config drive's file system image. */
  readonly drive: Buffer | undefined;
}

/**
 * Lays out the disk, writes a root file system image to its last partition, and fills the others (agent-protocol.md
 * §6.2). As with whole-disk images, nothing is touched before the image's beginning has arrived and looks right.
 * @throws AppError as `writeImage` and `planPartitionLayout`; `not_supported` on software RAID, as in Ironic.
 */
export async function writePartitionImage(
  context: Context,
  device: BlockDevice,
  image: PartitionImage,
  tuning: Pick<WriteImageOptions, 'maxTries' | 'retryDelayMs' | 'idleTimeoutMs'> = {},
): Promise<WrittenImage> {
  return writeAgainIfReplaced(context.log, () => writeOnce(context, device, image, tuning));
}

async function writeOnce(
  context: Context,
  device: BlockDevice,
  { info, checksum, requested, drive }: PartitionImage,
  tuning: Pick<WriteImageOptions, 'maxTries' | 'retryDelayMs' | 'idleTimeoutMs'>,
): Promise<WrittenImage> {
  if (device.type.startsWith('raid')) {
    throw new AppError(
      'not_supported',
      `image_info is a partition image, and the root device ${device.name} is software RAID: give a whole-disk image`,
    );
  }
  const layout = planPartitionLayout(requested, device);
  const place = (role: PartitionRole): string | undefined => {
    const found = layout.partitions.find((each) => each.role === role);
    return found && partitionName(device.name, found.number);
  };
  const root = {
    name: place('root') ?? '',
    sizeBytes: requested.rootMib * 1024 * 1024,
    logicalSectorBytes: device.logicalSectorBytes,
  };
  if (requested.preserveEphemeral) checkSameLayout(layout, await readDiskTable(context.run, device.name), device.name);
  const opened: Disk[] = [];
  const prepareAndOpen = async (): Promise<Disk> => {
    await prepareDisk(context, device, layout, requested.preserveEphemeral ? root.name : undefined);
    opened.push(await openDisk({ ...device, ...root }, context.signal));
    return opened[0] as Disk;
  };
  const started = performance.now();
  try {
    const { head: _, ...figures } = await writeImage(root, prepareAndOpen, {
      ...transferOf(context, info, checksum),
      ...tuning,
      checkHead: (head) => requirePartitionImage(head, root),
    });
    const ms = Math.round(performance.now() - started);
    context.log.info({ partition: root.name, ...figures, ms }, 'partition image written');
    await closeAll(opened);
    await fillOthers(context, requested, place);
    const probed = await probePartitions(context.run, device.name);
    const rootPartition = findWritten(probed, root.name);
    await growFileSystem(context, rootPartition);
    if (drive) await writeConfigDriveTo(context, { name: place('config-drive') ?? '', disk: device.name }, drive);
    await rereadPartitions(context.run, device.name);
    return {
      imageId: info.id,
      checksum: checksum.hex,
      device: device.name,
      rootUuid: rootPartition.fsUuid,
      efiSystemPartitionUuid: probed.find(({ name }) => name === place('efi'))?.fsUuid ?? null,
      headOf: root.name,
      headSha256: await digestHead(root.name),
    };
  } catch (error) {
    if (opened.length > 0) await makeUnusable(context, device, opened, requested.preserveEphemeral);
    throw error;
  }
}

/** @param keeping the one partition that is wiped where the table and the others must stay */
async function prepareDisk(
  { run, reportProgress }: Context,
  device: BlockDevice,
  layout: PlannedLayout,
  keeping: string | undefined,
): Promise<void> {
  await (await openExclusive(device.name)).close();
  reportProgress({ phase: 'partitioning disk' });
  try {
    if (keeping === undefined) {
      await wipeDisk(run, device);
      await writeDiskTable(run, device.name, layout);
      const root = layout.partitions.at(-1);
      // GRUB does not need the mark, but some BIOSes boot no disk without it
      if (layout.label === 'msdos') await run('sfdisk', ['--quiet', '--activate', device.name, String(root?.number)]);
    } else {
      await run('wipefs', ['--all', '--force', keeping]);
    }
    await rereadPartitions(run, device.name);
  } catch (cause) {
    throw new AppError('storage_error', `partition disk ${device.name}`, { cause });
  }
}

async function fillOthers(
  { run, reportProgress }: Context,
  requested: RequestedPartitions,
  place: (role: PartitionRole) => string | undefined,
): Promise<void> {
  reportProgress({ phase: 'making file systems' });
  const [esp, swap, ephemeral] = [place('efi'), place('swap'), place('ephemeral')];
  if (esp) await makeEspFileSystem(run, esp);
  if (swap) await makeSwap(run, swap);
  if (ephemeral && !requested.preserveEphemeral) await makeEphemeral(run, ephemeral, requested.ephemeralFormat);
}

/** Before the disk is partitioned: what arrived must be a file system that the root partition can hold. */
function requirePartitionImage(head: Buffer, root: ImageTarget): void {
  const { kind } = readTables(head);
  // one that is not known may be a boot sector: the file system that must be here says so
  if (kind === 'gpt' || kind === 'msdos') {
    throw new AppError(
      'image_error',
      'the image has a partition table: it is a whole-disk image (instance_info.image_type "whole-disk"), not a root file system',
    );
  }
  const system = readRootFileSystem(head, release());
  if (system === undefined) {
    const found = nameFileSystem(head);
    throw new AppError(
      'image_error',
      `the image is ${found ? `of ${found}` : 'nothing known'}, not a root file system with a UUID (${rootFileSystems.join(', ')}): nothing could boot from it`,
    );
  }
  const { name, sizeBytes, blockBytes, unknownFeatures } = system;
  if (unknownFeatures.length > 0) {
    throw new AppError(
      'image_error',
      `the image's ${name} file system has features that the ramdisk's kernel can't mount (${unknownFeatures.join(', ')}), ` +
        'so no boot loader could be made for it: make it without, or give a whole-disk image',
    );
  }
  if (sizeBytes !== undefined && sizeBytes > root.sizeBytes) throw tooSmall(root, sizeBytes);
  if (blockBytes !== undefined && blockBytes < root.logicalSectorBytes) {
    throw new AppError(
      'image_error',
      `the image's ${name} file system is read in pieces of ${blockBytes} bytes, which can't be mounted from ${root.name} with sectors of ${root.logicalSectorBytes}: make it for such sectors`,
    );
  }
}

function findWritten(partitions: readonly ProbedPartition[], name: string): ProbedPartition {
  const found = partitions.find((each) => each.name === name);
  if (found?.fsUuid) return found;
  throw new AppError(
    'image_error',
    `partition ${name} has no file system with a UUID after the image was written: nothing could boot from it`,
  );
}

async function closeAll(opened: readonly Disk[]): Promise<void> {
  for (const disk of opened) await disk.close();
}
