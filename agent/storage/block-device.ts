import type { Disk } from '#shared/disks/disk.ts';

/** A disk, RAID volume or other whole block device of this machine, with what only who writes to it needs. */
export interface BlockDevice extends Disk {
  readonly logicalSectorBytes: number;
  readonly physicalSectorBytes: number;
  readonly partitions: readonly Partition[];
  /** NQN of the NVMe subsystem that it is a namespace of, where that was asked for (`nvme-namespaces.ts`). */
  readonly nvmeSubsystem?: string | undefined;
  /** An NVMe namespace that this machine has no device for. */
  readonly isDetached?: boolean | undefined;
}

export interface Partition {
  /** `/dev/nvme0n1p1` */
  readonly name: string;
  readonly number: number;
  readonly sizeBytes: number;
}

/** A partition with what stands in the partition table and at its beginning. */
export interface ProbedPartition extends Partition {
  /** File system type: `vfat`, `iso9660`… */
  readonly fsType: string | null;
  readonly fsLabel: string | null;
  /** Of the file system: a UUID, or FAT's `1234-ABCD`. */
  readonly fsUuid: string | null;
  /** GPT name. */
  readonly partLabel: string | null;
  /** GPT type GUID or MBR type (`0xef`), lower case. */
  readonly partType: string | null;
}
