import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { partitionName } from '#agent/storage/partition-table.ts';
import type { DiskTable, TableLabel, TablePartition } from '#agent/storage/sfdisk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import {
  chooseRaidDisks,
  type LogicalDisk,
  type SoftwareLevel,
  type TargetRaidConfig,
} from '#shared/raid/target-raid-config.ts';

export const raidPartitionType = { gpt: 'a19d880f-05fc-4d3b-a006-743f0f84911e', msdos: 'fd' } as const;

export interface VolumePlan {
  /** Place in `logical_disks`. */
  readonly index: number;
  readonly name: string;
  readonly level: SoftwareLevel;
  /** Partitions in the order of the disks. */
  readonly members: readonly string[];
}

export interface DiskPlan {
  readonly disk: BlockDevice;
  readonly table: DiskTable;
}

export interface RaidPlan {
  readonly disks: readonly DiskPlan[];
  readonly volumes: readonly VolumePlan[];
}

export interface RaidPlanOptions {
  readonly bootMode: 'uefi' | 'bios';
  /** Label that the operator asks for under BIOS; UEFI always has a GPT. */
  readonly diskLabel?: TableLabel | undefined;
}

const mib = 1024 ** 2;
/** The end of the last partition stays this far from the end of the disk: the second GPT, and alignment. */
const tailMib = 1;
/** An MBR reaches 2 TiB of 512-byte sectors. */
const maxMsdosMib = 2 * 1024 * 1024 - 1;
const maxMsdosPartitions = 4;

/**
 * Which partitions and arrays make `config` on these disks (agent-protocol.md §7). Each volume has a partition on each
 * of its disks; volumes that take what is left come last. Room stays at the beginning: under UEFI 550 MiB for an EFI
 * system partition, in a GPT under BIOS 7 MiB for GRUB's core, in an MBR 1 MiB.
 * `size_gb` is the volume's size, so that striped levels need less than that of each disk.
 * @param disks those that may be used
 * @throws AppError `invalid_argument` (hints, levels, sizes) naming the logical disk; `storage_error` for want of disks.
 */
export function planRaid(config: TargetRaidConfig, disks: readonly BlockDevice[], options: RaidPlanOptions): RaidPlan {
  const chosen = config.logical_disks.map((volume, index) => chooseRaidDisks(volume, index, disks));
  const used = disks.filter((disk) => chosen.some((each) => each.includes(disk)));
  const label = chooseLabel(used, options);
  // volumes by the order of their partitions
  const order = [...config.logical_disks.keys()].sort(
    (a, b) => Number(isMax(config, a)) - Number(isMax(config, b)) || a - b,
  );
  const plans = used.map((disk) => {
    const volumes = order.filter((index) => chosen[index]?.includes(disk));
    return { disk, volumes, table: planTable(disk, volumes, config, { ...options, label, chosen }) };
  });
  return {
    disks: plans.map(({ disk, table }) => ({ disk, table })),
    volumes: config.logical_disks.map((volume, index) => ({
      index,
      name: volumeName(volume, index),
      level: volume.raid_level as SoftwareLevel,
      members: plans.flatMap(({ disk, volumes }) =>
        volumes.includes(index) ? [partitionName(disk.name, volumes.indexOf(index) + 1)] : [],
      ),
    })),
  };
}

/** A volume without a name is called after its place. */
export function volumeName(volume: Pick<LogicalDisk, 'volume_name'>, index: number): string {
  return volume.volume_name ?? `md${index}`;
}

function isMax(config: TargetRaidConfig, index: number): boolean {
  return config.logical_disks[index]?.size_gb === 'MAX';
}

function chooseLabel(disks: readonly BlockDevice[], { bootMode, diskLabel }: RaidPlanOptions): TableLabel {
  if (bootMode === 'uefi') return 'gpt';
  if (diskLabel) return diskLabel;
  return disks.some((disk) => disk.sizeBytes / mib > maxMsdosMib) ? 'gpt' : 'msdos';
}

interface TableOptions extends RaidPlanOptions {
  readonly label: TableLabel;
  readonly chosen: readonly (readonly BlockDevice[])[];
}

function planTable(
  disk: BlockDevice,
  volumes: readonly number[],
  config: TargetRaidConfig,
  { bootMode, label, chosen }: TableOptions,
): DiskTable {
  if (label === 'msdos' && volumes.length > maxMsdosPartitions) {
    throw new AppError(
      'invalid_argument',
      `${disk.name} would get ${volumes.length} partitions: an MBR has room for ${maxMsdosPartitions}, set capabilities disk_label:gpt`,
    );
  }
  const whole = Math.floor(disk.sizeBytes / mib) - tailMib;
  const end = label === 'msdos' ? Math.min(whole, maxMsdosMib) : whole;
  const partitions: TablePartition[] = [];
  let start = firstStartMib(bootMode, label);
  for (const [place, index] of volumes.entries()) {
    const volume = config.logical_disks[index] as LogicalDisk;
    const size = volume.size_gb === 'MAX' ? end - start : memberMib(volume, chosen[index]?.length ?? 0);
    if (size < 1 || start + size > end) {
      throw new AppError(
        'invalid_argument',
        `logical_disks[${index}].size_gb is ${volume.size_gb}: ${disk.name} has ${Math.max(0, end - start)} MiB left for it, it needs ${Math.max(size, 1)}`,
      );
    }
    partitions.push({
      number: place + 1,
      startBytes: start * mib,
      sizeBytes: size * mib,
      type: raidPartitionType[label],
      name: label === 'gpt' ? volumeName(volume, index) : null,
    });
    start += size;
  }
  return { label, partitions };
}

function firstStartMib(bootMode: 'uefi' | 'bios', label: TableLabel): number {
  if (bootMode === 'uefi') return 551;
  return label === 'gpt' ? 8 : 1;
}

/** Computes what each disk gives to a volume of a fixed size. */
function memberMib(volume: LogicalDisk, disks: number): number {
  const carrying = { '0': disks, '1': 1, '1+0': disks / 2, '5': disks - 1, '6': disks - 2 } as const;
  return Math.ceil((Number(volume.size_gb) * 1024) / carrying[volume.raid_level as SoftwareLevel]);
}
