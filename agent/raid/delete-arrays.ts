import type { AgentContext } from '#agent/context.ts';
import { isRaidOnly } from '#agent/raid/match-raid.ts';
import { listRaidDisks } from '#agent/raid/raid-config.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { assembleArrays, type MdArray, readArrays, stopArray, zeroSuperblock } from '#agent/storage/mdadm.ts';
import { partitionName } from '#agent/storage/partition-table.ts';
import { readDiskTable } from '#agent/storage/sfdisk.ts';
import { waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { wipeDisk } from '#agent/storage/wipe-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

type Disk = Pick<BlockDevice, 'name'>;

/**
 * Stops every array that has a member on one of `disks`, and makes its members forget it. Arrays stop in any order: one
 * on top of another keeps that one busy, so what is left is tried again while anything stops.
 * @returns the arrays stopped, `/dev/md0`
 * @throws AppError `storage_error` naming an array that also has members elsewhere, or that is in use.
 */
export async function stopArraysOn(run: Run, disks: readonly Disk[], log: Log): Promise<readonly string[]> {
  const all = await readArrays(run);
  const above = arraysAbove(all, disks);
  for (const array of above) requireOwnMembers(array, disks, all);
  let left = above;
  while (left.length > 0) {
    const failures = new Map<MdArray, unknown>();
    for (const array of left) {
      await stopAndForget(run, array, log).catch((error: unknown) => failures.set(array, error));
    }
    if (failures.size === left.length) {
      const [[array, cause]] = [...failures] as [[MdArray, unknown]];
      throw new AppError('storage_error', `stop the RAID array ${array.device} (${array.members.join(', ')})`, {
        cause,
      });
    }
    left = [...failures.keys()];
  }
  if (above.length > 0) await waitForUdev(run);
  return above.map(({ device }) => device);
}

async function stopAndForget(run: Run, array: MdArray, log: Log): Promise<void> {
  // what stands on the array must not be found again in the next array of the same size; one that has lost too many
  // members answers with errors, and has to go all the more
  if (array.active) {
    await run('wipefs', ['--all', '--force', array.device]).catch((error: unknown) =>
      log.warn({ err: error, array: array.device }, 'the contents of a RAID array could not be wiped; it is stopped'),
    );
  }
  await stopArray(run, array.device);
  for (const member of array.members) await zeroSuperblock(run, member);
}

/** Arrays with a member on one of `disks`, and those on these arrays. */
export function arraysAbove(all: readonly MdArray[], disks: readonly Disk[]): readonly MdArray[] {
  const below = new Set(disks.map(({ name }) => name));
  const found: MdArray[] = [];
  for (;;) {
    const next = all.filter((array) => !found.includes(array) && array.members.some((member) => isOn(member, below)));
    if (next.length === 0) return found;
    for (const array of next) below.add(array.device);
    found.push(...next);
  }
}

function requireOwnMembers(array: MdArray, disks: readonly Disk[], all: readonly MdArray[]): void {
  const ours = new Set([...disks.map(({ name }) => name), ...all.map(({ device }) => device)]);
  const foreign = array.members.filter((member) => !isOn(member, ours));
  if (foreign.length === 0) return;
  throw new AppError(
    'storage_error',
    `the RAID array ${array.device} has members on disks that must not be touched: ${foreign.join(', ')}`,
  );
}

/** Whether a device is one of `disks` or a partition of one. */
function isOn(device: string, disks: ReadonlySet<string>): boolean {
  if (disks.has(device)) return true;
  const number = Number(/(\d+)$/.exec(device)?.[1]);
  return [...disks].some((disk) => partitionName(disk, number) === device);
}

/**
 * Removes software RAID: stops all arrays on the machine's disks but those on the skip list, and wipes the disks that
 * held members and nothing else.
 * @param isWanted which of these disks count, for a caller that has listed them; all by default
 * @throws AppError `storage_error` naming the array or disk; with arrays or members still there at the end.
 */
export async function deleteArrays(
  context: Pick<AgentContext, 'run' | 'log' | 'node' | 'reportProgress' | 'writtenImage'>,
  isWanted?: (disk: Disk) => boolean,
): Promise<{ readonly arrays: readonly string[]; readonly disks: readonly string[] }> {
  const { run, log, reportProgress } = context;
  reportProgress({ phase: 'deleting RAID' });
  await assembleArrays(run);
  const list = async (log?: Log) => (await listRaidDisks(run, context.node, log)).filter(isWanted ?? (() => true));
  const disks = await list(isWanted ? undefined : log);
  // before members lose their superblocks: a disk may be a member as a whole
  const members = new Set((await readArrays(run)).flatMap((array) => array.members));
  context.writtenImage.current = undefined;
  const arrays = await stopArraysOn(run, disks, log);
  const wiped: string[] = [];
  for (const disk of await list()) {
    if (!members.has(disk.name) && !isRaidOnly(await readDiskTable(run, disk.name))) continue;
    log.info({ disk: disk.name }, 'wiping a disk of RAID members');
    await wipeDisk(run, disk);
    wiped.push(disk.name);
  }
  const left = arraysAbove(await readArrays(run), disks);
  if (left.length > 0) {
    const names = left.map(({ device }) => device).join(', ');
    throw new AppError('storage_error', `RAID arrays are there again after they were deleted: ${names}`);
  }
  return { arrays, disks: wiped };
}
