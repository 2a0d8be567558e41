/**
 * A disk, RAID volume or other whole block device, as far as its identity and use are concerned: what the choice of
 * disks is made from, by the agent on the machine and by the conductor from an inventory. Text fields are `null` where
 * the hardware is silent. A disk has several names, serial numbers and WWNs: the lists have all of them, and the single
 * fields the one that is shown.
 */
export interface Disk {
  /** `/dev/nvme0n1` */
  readonly name: string;
  /** Type as lsblk says it: `disk`, `raid1`, `loop`, `rom`, `mpath`… */
  readonly type: string;
  readonly sizeBytes: number;
  readonly model: string | null;
  readonly vendor: string | null;
  readonly serial: string | null;
  readonly wwn: string | null;
  readonly wwnWithExtension: string | null;
  readonly wwnVendorExtension: string | null;
  /** The label's, udev's and the kernel's; no placeholders. */
  readonly serials: readonly string[];
  /** WWNs as udev and the kernel write them, with and without extension; no placeholders. */
  readonly wwns: readonly string[];
  /** Below `/dev/disk/by-path`, `/dev/disk/by-id` and, of arrays, `/dev/md`. */
  readonly links: readonly string[];
  /** Why serial numbers, WWNs and links could not be read in full: what is missing is then not known, and not none. */
  readonly unread?: string | undefined;
  /** Why nothing has named it, so that it may have names, serial numbers and WWNs beside those that are known. */
  readonly unnamed?: string | undefined;
  /** SCSI address, `0:0:1:0`. */
  readonly hctl: string | null;
  /** `/dev/disk/by-path/pci-0000:00:05.0` */
  readonly byPath: string | null;
  /** `null` = nothing has said. */
  readonly rotational: boolean | null;
  /** `nvme`, `sata`, `sas`, `usb`… */
  readonly tran: string | null;
  readonly readOnly: boolean;
  readonly removable: boolean;
  /** Mount points of the device and of all that stands on it, `[SWAP]` included. */
  readonly mountpoints: readonly string[];
  /** Users of the device or of one of its partitions: RAID, LVM, crypt… (`/dev/md0`). */
  readonly holders: readonly string[];
  /** RAID arrays that are not assembled, of which it holds a member by its superblocks; absent: nobody has looked. */
  readonly restingArrays?: readonly RestingArray[] | undefined;
}

/** An array that is not assembled, by all names that it may be given. */
export interface RestingArray {
  /** In mdadm's groups of hex digits; empty where the superblock could not be read. */
  readonly uuids: readonly string[];
  /** `/dev/disk/by-id/md-uuid-…`, `/dev/md/data` */
  readonly names: readonly string[];
  /** Why it may have other identities than these. */
  readonly unread?: string | undefined;
}

/**
 * Recognizes what the kernel lists beside disks: memory, optical drives, and the areas of an eMMC for its own boot code
 * and keys, of a few MiB and write-protected. Its general-purpose areas (`gp0`) are disks: a tenant may keep data
 * there. Pure.
 */
export function isNoDisk(name: string): boolean {
  return /^\/dev\/((zram|ram|fd|nbd|sr)\d|mmcblk\d+(boot\d+|rpmb)$)/.test(name);
}

/** No image that a BMC plugs in is larger, and hardly any disk that holds data is smaller. */
const largestVirtualMedium = 64 * 1024 ** 3;

/**
 * Returns whether a BMC has plugged it in, and it is none of the machine's own disks: pure. Such call themselves so: "AMI
 * Virtual HDisk0", "iDRAC Virtual Floppy", "Linux File-Stor Gadget". Labels and other contents must not count: tenants write
 * those.
 */
export function isVirtualMedium(disk: Pick<Disk, 'tran' | 'vendor' | 'model' | 'sizeBytes'>): boolean {
  const name = `${disk.vendor ?? ''} ${disk.model ?? ''}`;
  return disk.tran === 'usb' && disk.sizeBytes <= largestVirtualMedium && /virtual|file-stor gadget/i.test(name);
}
