import { arraysAbove } from '#agent/raid/delete-arrays.ts';
import { findVolume, isRaidOnly, isTableAsPlanned } from '#agent/raid/match-raid.ts';
import type { DiskPlan, RaidPlan } from '#agent/raid/plan-raid.ts';
import type { MdArray } from '#agent/storage/mdadm.ts';
import { partitionName } from '#agent/storage/partition-table.ts';
import type { FoundTable } from '#agent/storage/sfdisk.ts';
import { readSignatures } from '#agent/storage/wipe-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Things that are on the machine, beside the plan. */
export interface Found {
  /** By the disk's name. */
  readonly tables: ReadonlyMap<string, FoundTable>;
  readonly arrays: readonly MdArray[];
}

/** Signatures of a partition table, which alone holds nothing. */
const tableSignatures: ReadonlySet<string> = new Set(['gpt', 'dos', 'PMBR']);

/**
 * Refuses the plan before anything is deleted for it: whatever is on its disks must be RAID, or they are blank.
 * @throws AppError `storage_error` naming the disks with other things.
 */
export async function requireOnlyRaid(run: Run, plan: RaidPlan, { tables, arrays }: Found): Promise<void> {
  const members = new Set(arrays.flatMap((array) => array.members));
  const foreign: string[] = [];
  for (const { disk } of plan.disks) {
    const table = tables.get(disk.name);
    if (members.has(disk.name) || isRaidOnly(table) || (await isBlank(run, disk.name, table))) continue;
    foreign.push(disk.name);
  }
  if (foreign.length > 0) throw occupied(foreign);
}

/**
 * Refuses to make the plan where something is in the way. A disk may be blank or partitioned as planned, and arrays of
 * the plan may be there: it is then what a run that broke off has left, and only what is missing is made.
 * @throws AppError `storage_error` naming the disks.
 */
export async function requireFreeDisks(run: Run, plan: RaidPlan, { tables, arrays }: Found): Promise<void> {
  const made = plan.volumes.map((volume) => findVolume(volume, arrays));
  const toBeMade = new Set(plan.volumes.flatMap(({ members }, index) => (made[index] ? [] : members)));
  const foreign: string[] = [];
  for (const each of plan.disks) {
    const { disk } = each;
    const isInUse = arraysAbove(arrays, [disk]).some((array) => !made.includes(array));
    const hasRoom = isTableAsPlanned(each.table, tables.get(disk.name))
      ? await areBlank(
          run,
          partitionsOf(each).filter((name) => toBeMade.has(name)),
        )
      : await isBlank(run, disk.name, tables.get(disk.name));
    if (isInUse || !hasRoom) foreign.push(disk.name);
  }
  if (foreign.length > 0) throw occupied(foreign);
}

function partitionsOf({ disk, table }: DiskPlan): readonly string[] {
  return table.partitions.map(({ number }) => partitionName(disk.name, number));
}

async function areBlank(run: Run, devices: readonly string[]): Promise<boolean> {
  for (const device of devices) if ((await readSignatures(run, device)).length > 0) return false;
  return true;
}

/** Whether there are no partitions, and no file system or the like on the disk as a whole. @param table `undefined`: not read */
async function isBlank(run: Run, disk: string, table: FoundTable | undefined): Promise<boolean> {
  if (table === undefined || table.label === 'unknown') return false;
  const isRead = table.label !== 'none';
  if (isRead && table.partitions.length > 0) return false;
  return (await readSignatures(run, disk)).every((type) => isRead && tableSignatures.has(type));
}

function occupied(disks: readonly string[]): AppError {
  return new AppError(
    'storage_error',
    `there are partitions, file systems or arrays on ${disks.join(', ')}: run erase_devices_metadata first (or, for software RAID alone, delete_configuration)`,
  );
}
