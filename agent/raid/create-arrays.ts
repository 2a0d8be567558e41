import type { AgentContext, CommandNode } from '#agent/context.ts';
import { type Found, requireFreeDisks, requireOnlyRaid } from '#agent/raid/check-room.ts';
import { deleteArrays } from '#agent/raid/delete-arrays.ts';
import { findVolume, isTableAsPlanned, matchRaid, mdLevel } from '#agent/raid/match-raid.ts';
import { planRaid, type RaidPlan, type VolumePlan } from '#agent/raid/plan-raid.ts';
import { listRaidDisks } from '#agent/raid/raid-config.ts';
import { readCapability } from '#agent/storage/capabilities.ts';
import { assembleArrays, createArray, freeArrayDevice, type MdArray, readArrays } from '#agent/storage/mdadm.ts';
import { type FoundTable, readDiskTable, writeDiskTable } from '#agent/storage/sfdisk.ts';
import { rereadPartitions, waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';
import type { TargetRaidConfig } from '#shared/raid/target-raid-config.ts';

type Context = Pick<AgentContext, 'run' | 'log' | 'node' | 'reportProgress' | 'writtenImage'>;

export interface CreateOptions {
  readonly bootMode: 'uefi' | 'bios';
  /** Remove what RAID is on the plan's disks before, unless it is what is wanted. */
  readonly deleteExisting: boolean;
}

/**
 * Makes the arrays of `config`, in its order; what is there already as wanted is left alone, so that a run that broke
 * off is gone on with. What is not a part of RAID, and disks that are not in the plan, are never touched.
 * @throws AppError as `planRaid` and `deleteArrays`; `storage_error` naming the disks with things in the way, before
 * anything is deleted for want of their room, or an array that lacks members.
 */
export async function createArrays(
  context: Context,
  config: TargetRaidConfig,
  { bootMode, deleteExisting }: CreateOptions,
): Promise<readonly MdArray[]> {
  const { run, log, node, reportProgress } = context;
  reportProgress({ phase: 'looking for RAID' });
  // before the disks are listed: the skip list may name an array, and protects its members then
  await assembleArrays(run);
  const plan = planRaid(config, await listRaidDisks(run, node, log), { bootMode, diskLabel: readDiskLabel(node) });
  let found = await look(run, plan);
  const there = matchRaid(plan, found.tables, found.arrays);
  if (there) {
    log.info({ arrays: there.map(({ device }) => device) }, 'the RAID arrays are there as wanted');
    return there;
  }
  if (deleteExisting) {
    await requireOnlyRaid(run, plan, found);
    await deleteArrays(context, ({ name }) => plan.disks.some(({ disk }) => disk.name === name));
    found = await look(run, plan);
  }
  await requireFreeDisks(run, plan, found);
  context.writtenImage.current = undefined;
  for (const { disk, table } of plan.disks) {
    if (isTableAsPlanned(table, found.tables.get(disk.name))) continue;
    reportProgress({ phase: `partitioning ${disk.name}` });
    await writeDiskTable(run, disk.name, table);
    await rereadPartitions(run, disk.name);
  }
  for (const volume of plan.volumes) {
    if (findVolume(volume, found.arrays)) continue;
    reportProgress({ phase: `creating RAID ${volume.name}` });
    await createVolume(run, volume);
  }
  await waitForUdev(run);
  return verify(run, plan);
}

async function look(run: Run, plan: RaidPlan): Promise<Found> {
  const tables = new Map<string, FoundTable>();
  for (const { disk } of plan.disks) tables.set(disk.name, await readDiskTable(run, disk.name));
  return { tables, arrays: await readArrays(run) };
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
  const { tables, arrays } = await look(run, plan);
  const made = matchRaid(plan, tables, arrays);
  if (made) return made;
  const seen = arrays.map(
    ({ device, level, name, working, size, members }) =>
      `${device} is ${name} ${level} with ${working} of ${size} members (${members.join(', ')})`,
  );
  throw new AppError(
    'storage_error',
    `the RAID arrays differ from the ones that were just made: ${seen.join('; ') || 'there are none'}`,
  );
}

/** `capabilities: disk_label:gpt`, for BIOS machines. */
function readDiskLabel(node: CommandNode): 'gpt' | 'msdos' | undefined {
  const label = readCapability(node, 'disk_label');
  return label === 'gpt' || label === 'msdos' ? label : undefined;
}
