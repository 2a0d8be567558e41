import type { AgentContext } from '#agent/context.ts';
import { requireBootCode } from '#agent/image/disk/boot-code.ts';
import { checkTable, type TableUse } from '#agent/image/disk/check-table.ts';
import { type Disk, openDisk, openExclusive } from '#agent/image/disk/disk.ts';
import type { ExpectedChecksum } from '#agent/image/fetch/expected-checksum.ts';
import { transferOf } from '#agent/image/transfer-of.ts';
import { writeAgainIfReplaced } from '#agent/image/write-again.ts';
import { type WriteImageOptions, writeImage } from '#agent/image/write-image.ts';
import { digestHead, type WrittenImage } from '#agent/image-means/written-image.ts';
import { type BlockDevice, runLsblk } from '#agent/storage/lsblk.ts';
import { readPartitionTable } from '#agent/storage/partition-table.ts';
import { moveBackupGpt } from '#agent/storage/sgdisk.ts';
import { rereadPartitions } from '#agent/storage/wait-for-udev.ts';
import { wipeDisk, zeroEnds } from '#agent/storage/wipe-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { ImageInfo } from '#shared/in-band/image-info.ts';
import type { Run } from '#shared/process/run.ts';

type Context = Pick<AgentContext, 'run' | 'clock' | 'log' | 'signal' | 'reportProgress'>;

/**
 * Writes a whole-disk image and checks that the disk has partitions afterwards (agent-protocol.md §6.2). The disk's
 * old content goes only once the image's beginning has arrived and looks right; after a failure the disk is not
 * bootable.
 * @param use `needsBootCode`: a BIOS is to start what the image itself brings
 * @throws AppError as `writeImage`, `checkTable` and `requireBootCode`.
 */
export async function writeWholeDisk(
  context: Context,
  device: BlockDevice,
  info: ImageInfo,
  checksum: ExpectedChecksum,
  tuning: Pick<WriteImageOptions, 'maxTries' | 'retryDelayMs' | 'idleTimeoutMs'> = {},
  use: WholeDiskUse = {},
): Promise<WrittenImage> {
  return writeAgainIfReplaced(context.log, () => writeOnce(context, device, { info, checksum }, tuning, use));
}

type WholeDiskUse = TableUse & { readonly needsBootCode?: boolean };

async function writeOnce(
  context: Context,
  device: BlockDevice,
  { info, checksum }: { readonly info: ImageInfo; readonly checksum: ExpectedChecksum },
  tuning: Pick<WriteImageOptions, 'maxTries' | 'retryDelayMs' | 'idleTimeoutMs'>,
  use: WholeDiskUse,
): Promise<WrittenImage> {
  const opened: Disk[] = [];
  const wipeAndOpen = async (): Promise<Disk> => {
    await requireUnusedDisk(device);
    context.reportProgress({ phase: 'wiping disk' });
    opened.push(await prepareDisk(context, device));
    return opened[0] as Disk;
  };
  const started = performance.now();
  try {
    const written = await writeImage(device, wipeAndOpen, {
      ...transferOf(context, info, checksum),
      ...tuning,
      checkHead: async (head, rest) => {
        await checkTable(head, rest, device, use);
        if (use.needsBootCode) await requireBootCode(head, rest);
      },
    });
    const { head, ...figures } = written;
    context.log.info({ device: device.name, ...figures, ms: Math.round(performance.now() - started) }, 'image written');
    await closeAll(opened);
    context.reportProgress({ phase: 'checking partitions' });
    await settlePartitions(context.run, device, head);
    return {
      imageId: info.id,
      checksum: checksum.hex,
      device: device.name,
      rootUuid: readPartitionTable(head).diskId ?? null,
      ...(figures.origin && { origin: figures.origin }),
      headSha256: await digestHead(device.name),
    };
  } catch (error) {
    if (opened.length > 0) await makeUnbootable(context, device, opened);
    throw error;
  }
}

/** Nothing may be wiped on a disk that came into use since it was chosen. */
async function requireUnusedDisk(device: BlockDevice): Promise<void> {
  const handle = await openExclusive(device.name);
  await handle.close();
}

async function prepareDisk({ run, signal }: Context, device: BlockDevice): Promise<Disk> {
  try {
    await wipeDisk(run, device);
  } catch (cause) {
    throw new AppError('storage_error', `wipe disk ${device.name} before the image`, { cause });
  }
  return openDisk(device, signal);
}

async function settlePartitions(run: Run, device: BlockDevice, head: Buffer): Promise<void> {
  if (readPartitionTable(head).kind === 'gpt') await moveBackupGpt(run, device.name);
  await rereadPartitions(run, device.name);
  const [after] = await runLsblk(run, [device.name]);
  if (after !== undefined && after.partitions.length > 0) return;
  throw new AppError('image_error', `disk ${device.name} has no partitions after the image was written`);
}

async function closeAll(opened: Disk[]): Promise<void> {
  for (const disk of opened) await disk.close();
}

async function makeUnbootable(context: Context, device: BlockDevice, opened: Disk[]): Promise<void> {
  try {
    await closeAll(opened);
    await zeroEnds(device);
  } catch (error) {
    // the failure that led here is the one to report; the disk was not bootable before it either
    context.log.error({ err: error, device: device.name }, 'the ends of the disk could not be zeroed');
  }
}
