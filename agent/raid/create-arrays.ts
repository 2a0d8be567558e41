import type { AgentContext, CommandNode } from '#agent/context.ts';
import { deleteArrays } from '#agent/raid/delete-arrays.ts';
import { matchRaid, mdLevel } from '#agent/raid/match-raid.ts';
import { planRaid, type RaidPlan, type VolumePlan } from '#agent/raid/plan-raid.ts';
import { listRaidDisks } from '#agent/raid/raid-disks.ts';
import { readCapability } from '#agent/storage/capabilities.ts';
import { assembleArrays, createArray, freeArrayDevice, type MdArray, readArrays } from '#agent/storage/mdadm.ts';
import { type DiskTable, readDiskTable, writeDiskTable } from '#agent/storage/sfdisk.ts';
import { rereadPartitions, waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';
import type { TargetRaidConfig } from '#shared/raid/target-raid-config.ts';

type Context = Pick<AgentContext, 'run' | 'log' | 'node' | 'reportProgress' | 'writtenImage'>;

export interface CreateOptions {
  readonly bootMode: 'uefi' | 'bios';
  /** Remove what RAID is there before, unless it is what is wanted. */
  readonly deleteExisting: boolean;
}

/**
 * Makes the arrays of `config`, in its order; a set that is there already as wanted is left alone. Partitions that are
 * no part of RAID are never removed.
 * @throws AppError as `planRaid` and `deleteArrays`; `storage_error` naming partitions or arrays in the way, or an array
 * that lacks members.
 */
export async function createArrays(
  context: Context,
  config: TargetRaidConfig,
  { bootMode, deleteExisting }: CreateOptions,
): Promise<readonly MdArray[]> {
  const { run, log, node, reportProgress } = context;
  reportProgress({ phase: 'looking for RAID' });
  const plan = planRaid(config, await listRaidDisks(run, node), { bootMode, diskLabel: readDiskLabel(node) });
  await assembleArrays(run);
  const there = matchRaid(plan, await readTables(run, plan), await readArrays(run));
  if (there) {
    log.info({ arrays: there.map(({ device }) => device) }, 'the RAID arrays are there as wanted');
    return there;
  }
  if (deleteExisting) await deleteArrays(context);
  refuseOccupied(plan, await readTables(run, plan), await readArrays(run));
  context.writtenImage.current = undefined;
  for (const { disk, table } of plan.disks) {
    reportProgress({ phase: `partitioning ${disk.name}` });
    await writeDiskTable(run, disk.name, table);
    await rereadPartitions(run, disk.name);
  }
  for (const volume of plan.volumes) {
    reportProgress({ phase: `creating RAID ${volume.name}` });
    await createVolume(run, volume);
  }
  await waitForUdev(run);
  return verify(run, plan);
}

async function readTables(run: Run, plan: RaidPlan): Promise<ReadonlyMap<string, DiskTable | undefined>> {
  const tables = new Map<string, DiskTable | undefined>();
  for (const { disk } of plan.disks) tables.set(disk.name, await readDiskTable(run, disk.name));
  return tables;
}

/** What the operator has not asked to be deleted stays, and the step fails. */
function refuseOccupied(
  plan: RaidPlan,
  tables: ReadonlyMap<string, DiskTable | undefined>,
  arrays: readonly MdArray[],
): void {
  const occupied = plan.disks.filter(({ disk }) => (tables.get(disk.name)?.partitions.length ?? 0) > 0);
  const inUse = plan.disks.filter(({ disk }) => arrays.some((array) => array.members.includes(disk.name)));
  const names = [...new Set([...occupied, ...inUse].map(({ disk }) => disk.name))];
  if (names.length === 0) return;
  throw new AppError(
    'storage_error',
    `there are partitions or arrays on ${names.join(', ')}: run erase_devices_metadata first (or, for software RAID alone, delete_configuration)`,
  );
}

async function createVolume(run: Run, volume: VolumePlan): Promise<void> {
  const device = freeArrayDevice(
    (await readArrays(run)).map((array) => array.device),
    volume.index,
  );
  try {
    await createArray(run, {
      device,
      name: volume.name,
      level: mdLevel(volume.level),
      metadata: '1.2',
      members: volume.members,
    });
  } catch (cause) {
    throw new AppError(
      'storage_error',
      `create RAID ${volume.level} "${volume.name}" of ${volume.members.join(', ')}`,
      {
        cause,
      },
    );
  }
}

async function verify(run: Run, plan: RaidPlan): Promise<readonly MdArray[]> {
  const arrays = await readArrays(run);
  const made = matchRaid(plan, await readTables(run, plan), arrays);
  if (made) return made;
  const seen = arrays.map(
    ({ device, level, name, working, size, members }) =>
      `${device} is ${name} ${level} with ${working} of ${size} members (${members.join(', ')})`,
  );
  throw new AppError(
    'storage_error',
    `the RAID arrays are not as they were made: ${seen.join('; ') || 'there are none'}`,
  );
}

/** `capabilities: disk_label:gpt`, for BIOS machines. */
function readDiskLabel(node: CommandNode): 'gpt' | 'msdos' | undefined {
  const label = readCapability(node, 'disk_label');
  return label === 'gpt' || label === 'msdos' ? label : undefined;
}
