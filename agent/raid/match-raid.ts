import { type RaidPlan, raidPartitionType, type VolumePlan } from '#agent/raid/plan-raid.ts';
import type { MdArray } from '#agent/storage/mdadm.ts';
import type { DiskTable, FoundTable, TablePartition } from '#agent/storage/sfdisk.ts';

/** The type of the partitions that boot loaders add to members: EFI system partition, GRUB's BIOS boot partition. */
const bootPartitionTypes: ReadonlySet<string> = new Set([
  'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
  '21686148-6449-6e6f-744e-656564454649',
]);
const raidTypes: ReadonlySet<string> = new Set(Object.values(raidPartitionType));

/** mdadm's name of a level: `1+0` is `10`. */
export function mdLevel(level: VolumePlan['level']): string {
  return level === '1+0' ? '10' : level;
}

/** The array that is this volume, whole and at work; `undefined` when there is none. */
export function findVolume(volume: VolumePlan, arrays: readonly MdArray[]): MdArray | undefined {
  const members = volume.members.toSorted().join();
  return arrays.find(
    (array) =>
      array.active &&
      array.level === `raid${mdLevel(volume.level)}` &&
      array.name === volume.name &&
      array.working === volume.members.length &&
      array.members.join() === members,
  );
}

/**
 * The arrays of a plan, in its order, when all is as planned: tables, levels, names, members, every member at work.
 * `undefined` when anything differs. What boot loaders have added to the disks does not count.
 * @param tables by the disk's name
 */
export function matchRaid(
  plan: RaidPlan,
  tables: ReadonlyMap<string, FoundTable>,
  arrays: readonly MdArray[],
): readonly MdArray[] | undefined {
  if (!plan.disks.every(({ disk, table }) => isTableAsPlanned(table, tables.get(disk.name)))) return undefined;
  const found = plan.volumes.flatMap((volume) => findVolume(volume, arrays) ?? []);
  return found.length === plan.volumes.length ? found : undefined;
}

/** Whether a disk has the planned partitions, and beside them none but boot loaders'. */
export function isTableAsPlanned(planned: DiskTable, found: FoundTable | undefined): boolean {
  if (found?.label !== 'gpt' && found?.label !== 'msdos') return false;
  if (found.label !== planned.label) return false;
  const rest = found.partitions.filter((each) => !planned.partitions.some((wanted) => isSame(wanted, each)));
  return (
    found.partitions.length - rest.length === planned.partitions.length &&
    rest.every(({ type }) => bootPartitionTypes.has(type))
  );
}

function isSame(a: TablePartition, b: TablePartition): boolean {
  return a.number === b.number && a.startBytes === b.startBytes && a.sizeBytes === b.sizeBytes && a.type === b.type;
}

/** Whether a disk holds members of RAID and nothing else: partitions for it, perhaps with boot loaders' beside them. */
export function isRaidOnly(table: FoundTable | undefined): boolean {
  if (table?.label !== 'gpt' && table?.label !== 'msdos') return false;
  const types = table.partitions.map(({ type }) => type);
  return (
    types.some((type) => raidTypes.has(type)) &&
    types.every((type) => raidTypes.has(type) || bootPartitionTypes.has(type))
  );
}
