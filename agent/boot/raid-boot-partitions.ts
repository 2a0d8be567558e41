import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { partitionName } from '#agent/storage/partition-table.ts';
import { describeTable, partitionsIn, readDiskTable, type TablePartition } from '#agent/storage/sfdisk.ts';
import { addGptPartition } from '#agent/storage/sgdisk.ts';
import { updatePartitions } from '#agent/storage/wait-for-udev.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** A partition on a disk of an array, made in the room that was left when the array was (agent-protocol.md §7). */
export interface BootPartition {
  /** The disk, `/dev/vda`. */
  readonly disk: string;
  readonly number: number;
  /** `/dev/vda2` */
  readonly name: string;
}

const kinds = {
  /** Room is for 551 MiB less the first, where tables are. */
  esp: { code: 'ef00', type: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b', sizeMib: 550, label: 'uefi-holder' },
  bios: { code: 'ef02', type: '21686148-6449-6e6f-744e-656564454649', sizeMib: 2, label: 'bios-boot-part' },
} as const;

/**
 * Finds or makes the partition of this kind on each GPT disk; an MBR needs none for a BIOS.
 * @throws AppError `storage_error` naming the disk without room or table.
 */
export async function ensureBootPartitions(
  run: Run,
  disks: readonly Pick<BlockDevice, 'name'>[],
  kind: keyof typeof kinds,
): Promise<readonly BootPartition[]> {
  const made: BootPartition[] = [];
  for (const [index, { name: disk }] of disks.entries()) {
    const table = await readDiskTable(run, disk);
    if (kind === 'bios' && table.label === 'msdos') continue;
    if (table.label !== 'gpt') {
      throw new AppError(
        'storage_error',
        `${disk} has no GPT, which a boot partition on it would need, but ${describeTable(table)}`,
      );
    }
    const partition = table.partitions.find(isOf(kind)) ?? (await addBootPartition(run, disk, index, kind));
    made.push({ disk, number: partition.number, name: partitionName(disk, partition.number) });
  }
  return made;
}

function isOf(kind: keyof typeof kinds): (partition: TablePartition) => boolean {
  return ({ type }) => type === kinds[kind].type;
}

async function addBootPartition(
  run: Run,
  disk: string,
  index: number,
  kind: keyof typeof kinds,
): Promise<TablePartition> {
  const { code, sizeMib, label } = kinds[kind];
  try {
    await addGptPartition(run, disk, { start: '1M', sizeMib, code, name: `${label}-${index}` });
  } catch (cause) {
    throw new AppError('storage_error', `add a boot partition of ${sizeMib} MiB at the beginning of ${disk}`, {
      cause,
    });
  }
  await updatePartitions(run, disk);
  const added = partitionsIn(await readDiskTable(run, disk), disk).find(isOf(kind));
  if (!added) throw new AppError('storage_error', `the boot partition added to ${disk} is not in its table`);
  return added;
}
