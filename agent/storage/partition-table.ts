import { readTables, type Tables } from '#agent/storage/disk-tables.ts';
import { type Partition, type ProbedPartition, runLsblk } from '#agent/storage/lsblk.ts';
import { readSignatures } from '#agent/storage/wipe-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

/** Partition table as the beginning of a disk has it: pure. */
export interface PartitionTable {
  readonly kind: Tables['kind'];
  /** Sector size that a GPT was made for. */
  readonly gptSectorBytes?: number;
  /** The MBR's disk identifier as `0x12345678`: Ironic's "root uuid" of a whole-disk image. */
  readonly diskId?: string;
  /** The MBR's first 440 bytes hold code. */
  readonly hasBootCode: boolean;
}

/** @param head the disk's first bytes, 8 KiB or more (or all of it) */
export function readPartitionTable(head: Buffer): PartitionTable {
  const tables = readTables(head);
  const gptSectorBytes = tables.kind === 'gpt' ? tables.gpts[0]?.sectorBytes : undefined;
  const hasMbr = head.length >= 512 && head.readUInt16LE(510) === 0xaa55;
  const id = hasMbr ? head.readUInt32LE(440) : 0;
  return {
    kind: tables.kind,
    ...(gptSectorBytes === undefined ? {} : { gptSectorBytes }),
    ...(id === 0 ? {} : { diskId: `0x${id.toString(16).padStart(8, '0')}` }),
    hasBootCode: hasMbr && head.subarray(0, 440).some((byte) => byte !== 0),
  };
}

/** The device of a disk's partition: `/dev/vda1`, `/dev/nvme0n1p1`, `/dev/md0p1`. */
export function partitionName(disk: string, number: number): string {
  return /\d$/.test(disk) ? `${disk}p${number}` : `${disk}${number}`;
}

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

/** Runs `blkid --probe --output export` on a disk or partition; empty when nothing is known of it. */
export async function runBlkid(run: Run, deviceName: string): Promise<string> {
  return (await probeSignatures(run, deviceName)).stdout;
}

/**
 * The same, with the signatures that `wipefs` names where there are several that contradict each other: blkid then says
 * nothing at all, though the device is anything but empty.
 */
export async function probeSignatures(
  run: Run,
  deviceName: string,
): Promise<{ readonly stdout: string; readonly contradicting: readonly string[] }> {
  // exit code 2: nothing is known of it; 8: several signatures that contradict each other
  const probed = await run('blkid', ['--probe', '--output', 'export', deviceName], { okExitCodes: [0, 2, 8] });
  if (probed.exitCode !== 8) return { stdout: probed.stdout, contradicting: [] };
  const signatures = await readSignatures(run, deviceName);
  return { stdout: probed.stdout, contradicting: signatures.length > 0 ? signatures : ['several signatures'] };
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
