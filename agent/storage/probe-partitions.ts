import type { Partition, ProbedPartition } from '#agent/storage/block-device.ts';
import { runLsblk } from '#agent/storage/lsblk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/**
 * The partitions of a disk as they are on it now, by `blkid`'s low-level probing: lsblk repeats udev's database, which
 * lags behind, and knows nothing where no udev runs.
 * @throws AppError `not_found` when the disk is missing.
 */
export async function probePartitions(run: Run, deviceName: string): Promise<readonly ProbedPartition[]> {
  const [device] = await runLsblk(run, [deviceName]);
  if (device === undefined) throw new AppError('not_found', `disk ${deviceName} is missing`);
  return Promise.all(device.partitions.map((partition) => probe(run, partition)));
}

async function probe(run: Run, partition: Partition): Promise<ProbedPartition> {
  return { ...partition, ...parseBlkid(await runBlkid(run, partition.name)) };
}

/** What `blkid --probe --output export` finds on a disk or partition; empty when nothing is known of it. */
export async function runBlkid(run: Run, deviceName: string): Promise<string> {
  // exit code 2: nothing is known of it; 8: several signatures that contradict each other
  const { stdout } = await run('blkid', ['--probe', '--output', 'export', deviceName], { okExitCodes: [0, 2, 8] });
  return stdout;
}

/** One property of `blkid --probe --output export`; `null` when it is missing or empty. */
export function blkidProperty(stdout: string, key: string): string | null {
  const line = stdout.split('\n').find((each) => each.startsWith(`${key}=`));
  // blkid escapes for a shell
  return line?.slice(key.length + 1).replaceAll(/\\(.)/g, '$1') || null;
}

/** Parses `blkid --probe --output export`. */
export function parseBlkid(stdout: string): Omit<ProbedPartition, keyof Partition> {
  const get = (key: string): string | null => blkidProperty(stdout, key);
  return {
    fsType: get('TYPE'),
    fsLabel: get('LABEL'),
    fsUuid: get('UUID'),
    partLabel: get('PART_ENTRY_NAME'),
    partType: get('PART_ENTRY_TYPE')?.toLowerCase() ?? null,
  };
}
