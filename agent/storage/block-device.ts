/** A disk, RAID volume or other whole block device of this machine. Text fields are `null` where the hardware is silent. */
export interface BlockDevice {
  /** `/dev/nvme0n1` */
  readonly name: string;
  /** As lsblk says it: `disk`, `raid1`, `loop`, `rom`, `mpath`… */
  readonly type: string;
  readonly sizeBytes: number;
  readonly model: string | null;
  readonly vendor: string | null;
  readonly serial: string | null;
  readonly wwn: string | null;
  readonly wwnWithExtension: string | null;
  readonly wwnVendorExtension: string | null;
  /** SCSI address, `0:0:1:0`. */
  readonly hctl: string | null;
  /** `/dev/disk/by-path/pci-0000:00:05.0` */
  readonly byPath: string | null;
  readonly rotational: boolean;
  /** `nvme`, `sata`, `sas`, `usb`… */
  readonly tran: string | null;
  readonly readOnly: boolean;
  readonly removable: boolean;
  readonly logicalSectorBytes: number;
  readonly physicalSectorBytes: number;
  /** Of the device and all that stands on it, `[SWAP]` included. */
  readonly mountpoints: readonly string[];
  /** What uses the device or one of its partitions: RAID, LVM, crypt… (`/dev/md0`). */
  readonly holders: readonly string[];
  readonly partitions: readonly Partition[];
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
