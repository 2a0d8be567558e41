import { readDoubts } from '#agent/boot/known-partitions.ts';
import { type BlockDevice, listBlockDevices } from '#agent/storage/lsblk.ts';
import { parseBlkid, runBlkid } from '#agent/storage/partition-table.ts';
import type { Run } from '#shared/process/run.ts';

/** Types of what is put together to other devices, which may hold file systems that are not seen here. */
const container = /^(LVM2_member|crypto_LUKS|zfs_member|bcache|.*_raid_member)$/i;

/** Partitions that hold no file system, by their GPT types: BIOS boot, Microsoft's reserved. */
const blankTypes: ReadonlySet<string> = new Set([
  '21686148-6449-6e6f-744e-656564454649',
  'e3c9e316-0b5c-4db8-817d-f92df00215ae',
]);

export function isContainer(fsType: string | null): boolean {
  return container.test(fsType ?? '');
}

/** Seeks a file system by its UUID on all disks of the machine; `undefined`: it isn't known whether one has it. */
export type SeekFileSystem = (run: Run, uuid: string) => Promise<boolean | undefined>;

/**
 * Seeks a file system as GRUB's `search --fs-uuid` does.
 * @param sysRoot differs only in tests
 */
export async function seekFileSystem(run: Run, uuid: string, sysRoot = '/sys'): Promise<boolean | undefined> {
  const all = await listBlockDevices(run, undefined, { withEmpty: true });
  const devices = all.filter(({ type }) => type === 'disk' || type.startsWith('raid'));
  const contents = (await Promise.all(devices.map((device) => contentsOf(run, device)))).flat();
  if (contents.some(({ fsUuid }) => fsUuid?.toLowerCase() === uuid.toLowerCase())) return true;
  const isUnclear = contents.some(
    ({ fsType, partType, isWhole }) =>
      isContainer(fsType) || (fsType === null && !isWhole && !blankTypes.has(partType ?? '')),
  );
  if (devices.length === 0 || isUnclear) return undefined;
  return (await readDoubts(run, devices, sysRoot)).length > 0 ? undefined : false;
}

/** Reads the contents of a disk's partitions, or its own where it has none. */
async function contentsOf(run: Run, { name, partitions }: BlockDevice) {
  const names = partitions.length > 0 ? partitions.map((each) => each.name) : [name];
  return Promise.all(
    names.map(async (each) => ({ ...parseBlkid(await runBlkid(run, each)), isWhole: partitions.length === 0 })),
  );
}
