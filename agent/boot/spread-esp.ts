import { cp } from 'node:fs/promises';
import { type BootPartition, ensureBootPartitions } from '#agent/boot/raid-boot-partitions.ts';
import { withMounted } from '#agent/storage/file-systems/mount.ts';
import type { BlockDevice, ProbedPartition } from '#agent/storage/lsblk.ts';
import {
  createArray,
  freeArrayDevice,
  type MdArray,
  readArrays,
  stopArray,
  zeroSuperblock,
} from '#agent/storage/mdadm.ts';
import { partitionName } from '#agent/storage/partition-table.ts';
import { partitionsIn, readDiskTable } from '#agent/storage/sfdisk.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** The type of an EFI system partition in a GPT and in an MBR. */
const espTypes: ReadonlySet<string> = new Set(['c12a7328-f81f-11d2-ba4b-00a0c93ec93b', '0xef']);

/**
 * The EFI system partitions of a disk, one at least.
 * @throws AppError `not_found` naming the partitions that are there.
 */
export function findEsps(
  deviceName: string,
  partitions: readonly ProbedPartition[],
): readonly [ProbedPartition, ...ProbedPartition[]] {
  const [esp, ...others] = partitions.filter(({ partType }) => partType !== null && espTypes.has(partType));
  if (esp) return [esp, ...others];
  const there = partitions.map(({ name, partType }) => `${name} (type ${partType ?? 'unknown'})`);
  throw new AppError(
    'not_found',
    `disk ${deviceName} has no EFI system partition: it has ${there.join(', ') || 'no partitions'}`,
  );
}

/**
 * Looks for loaders on an image's EFI partitions, of which others may hold data, or have been left over by a run before, which
 * has moved the files of the right one.
 * @returns `without`: why the first has none; `warnings`: the others that can't be read
 * @throws what `look` throws where none has a loader and one can't be read
 */
export async function findEspsWithLoader<Found>(
  esps: readonly ProbedPartition[],
  look: (device: string) => Promise<Found>,
): Promise<{
  readonly found: readonly { readonly esp: ProbedPartition; readonly on: Found }[];
  readonly without?: unknown;
  readonly warnings: readonly string[];
}> {
  const found: { esp: ProbedPartition; on: Found }[] = [];
  const [without, unread]: [unknown[], unknown[]] = [[], []];
  for (const esp of esps) {
    try {
      found.push({ esp, on: await look(esp.name) });
    } catch (error) {
      if (errorCode(error) === 'aborted') throw error;
      (errorCode(error) === 'not_found' ? without : unread).push(error);
    }
  }
  if (found.length === 0 && unread.length > 0) throw unread[0];
  const warnings = unread.map((error) => `an EFI system partition could not be looked into: ${errorChain(error)}`);
  return { found, without: without[0], warnings };
}

export interface SpreadEsp {
  /** The array of the EFI system partitions, `/dev/md1`. */
  readonly device: string;
  /** Each disk's, which firmware reads without knowing of RAID. */
  readonly holders: readonly BootPartition[];
}

const arrayName = 'esp';

/**
 * Gives every disk of an array an EFI system partition (agent-protocol.md §7): a RAID 1 with its superblocks at the end,
 * so that firmware sees a plain FAT file system in each member. The image's own files go there, with label and volume
 * id, and lose their old place inside the array, which no firmware can read and which would be found by the same id.
 * @param image the EFI system partition of the image, inside the array; `undefined` once its files have moved
 * @throws AppError `storage_error`; `not_found` when there is neither the image's nor one that was spread before.
 */
export async function spreadEsp(
  run: Run,
  disks: readonly BlockDevice[],
  image: ProbedPartition | undefined,
): Promise<SpreadEsp> {
  const holders = await ensureBootPartitions(run, disks, 'esp');
  const files = image?.fsType === 'vfat' ? image : undefined;
  const device = await ensureArray(run, holders, files !== undefined);
  if (files) {
    await copyEsp(run, files, device);
    await run('wipefs', ['--all', '--force', files.name]);
  }
  await waitForUdev(run);
  return { device, holders };
}

async function ensureArray(run: Run, holders: readonly BootPartition[], hasFiles: boolean): Promise<string> {
  const members = holders.map(({ name }) => name);
  const arrays = await readArrays(run);
  const there = arrays.find((array) => isEspOf(array, members));
  if (there) return there.device;
  // before a degraded array goes: it may hold the only copy of the files
  if (!hasFiles) throw new AppError('not_found', 'the image has no EFI system partition with a FAT file system');
  // half of one, or one with a member missing
  for (const array of arrays.filter((each) => each.members.some((member) => members.includes(member)))) {
    await stopArray(run, array.device);
  }
  for (const member of members) await zeroSuperblock(run, member);
  const device = freeArrayDevice(arrays.map((array) => array.device));
  await createArray(run, { device, name: arrayName, level: '1', metadata: '1.0', members });
  await waitForUdev(run);
  return device;
}

/**
 * The array of the EFI system partitions of these disks, once `spreadEsp` has made it; not another one of the same kind.
 * @throws AppError `conflict` naming both, where there are two
 */
export async function findSpreadEsp(
  run: Run,
  disks: readonly Pick<BlockDevice, 'name'>[],
): Promise<string | undefined> {
  const partitions = new Set<string>();
  for (const { name } of disks) {
    const table = await readDiskTable(run, name);
    for (const { type, number } of partitionsIn(table, name)) {
      if (espTypes.has(type)) partitions.add(partitionName(name, number));
    }
  }
  const arrays = await readArrays(run);
  const isEsp = (array: MdArray): boolean =>
    array.active &&
    array.level === 'raid1' &&
    array.metadata === '1.0' &&
    array.members.every((name) => partitions.has(name));
  const [found, ...others] = arrays.filter(isEsp).map(({ device }) => device);
  if (others.length === 0) return found;
  throw new AppError(
    'conflict',
    `the disks have several arrays of EFI system partitions, ${[found, ...others].join(', ')}: which one the system boots by ` +
      'is not known. Delete the one that is left over',
  );
}

function isEspOf(array: MdArray, members: readonly string[]): boolean {
  return (
    array.active &&
    array.level === 'raid1' &&
    array.metadata === '1.0' &&
    array.working === members.length &&
    array.members.join() === members.toSorted().join()
  );
}

async function copyEsp(run: Run, from: ProbedPartition, device: string): Promise<void> {
  const id = from.fsUuid?.replace('-', '');
  const label = from.fsLabel ? ['-n', from.fsLabel] : [];
  await run('mkfs.vfat', ['-F', '32', ...(id ? ['-i', id] : []), ...label, device]);
  await withMounted(run, from.name, { type: 'vfat', options: ['ro', 'nosuid', 'nodev', 'noexec'] }, (source) =>
    withMounted(run, device, { type: 'vfat', options: ['rw', 'nosuid', 'nodev', 'noexec'] }, async (target) => {
      try {
        await cp(source, target, { recursive: true, preserveTimestamps: true });
      } catch (cause) {
        throw new AppError('storage_error', `copy the files of ${from.name} to ${device}`, { cause });
      }
    }),
  );
}
