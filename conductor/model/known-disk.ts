import type { Disk, RestingArray } from '#shared/disks/disk.ts';
import type { OsDisk } from '#shared/wire/erase-result.ts';
import type { DiskContent, InventoryDisk } from '#shared/wire/inventory.ts';

/** A disk as last inventoried: what an inventory does not report is taken to be as on most machines. */
export interface KnownDisk extends Disk {
  /** Contents of the disk, its own table or file system first; `null`: not known, `[]`: nothing. */
  readonly contents: readonly DiskContent[] | null;
}

/** Where a deploy has written its image to, or has begun to. */
export interface RecordedOsDisk extends OsDisk {
  /** The deploy's uuid: a conductor of an older release deploys to another disk without recording it. */
  readonly flow?: string;
  /** The image that was written, where it was one in chunks. */
  readonly image?: WrittenImage;
}

export interface WrittenImage {
  readonly name: string;
  /** Digest of the image's index. */
  readonly sha256: string;
}

/** A disk that a wipe has preserved, by what it is known again. */
export interface SparedDisk {
  readonly serial: string | null;
  readonly wwn: string | null;
}

export function toKnownDisk(disk: InventoryDisk): KnownDisk {
  const contents = disk.baton_contents ?? null;
  return {
    name: disk.name,
    // inventories name disks and RAID volumes alike, without a type
    type: disk.name.startsWith('/dev/md') ? 'raid' : 'disk',
    sizeBytes: disk.size ?? 0,
    model: disk.model ?? null,
    vendor: disk.vendor ?? null,
    serial: disk.serial ?? null,
    wwn: disk.wwn ?? null,
    wwnWithExtension: disk.wwn_with_extension ?? null,
    wwnVendorExtension: disk.wwn_vendor_extension ?? null,
    serials: disk.baton_serials ?? [],
    wwns: disk.baton_wwns ?? [],
    links: disk.baton_links ?? [],
    unread: disk.baton_unread ?? undefined,
    unnamed: disk.baton_unnamed ?? undefined,
    restingArrays: disk.baton_resting_arrays ?? unknownArrays(disk),
    hctl: disk.hctl ?? null,
    byPath: disk.by_path ?? null,
    rotational: disk.rotational ?? null,
    tran: disk.tran ?? null,
    readOnly: false,
    removable: disk.baton_removable ?? false,
    mountpoints: [],
    // what is made of the disk's partitions is among its contents, under a name of its own
    holders: (contents ?? []).map(({ name }) => name).filter((name) => !isPartOf(disk.name, name)),
    contents,
  };
}

/** Array that may be there, for all that an inventory of an older agent, or of Ironic's, says. */
const unknownArray: RestingArray = {
  uuids: [],
  names: [],
  unread: 'its inventory does not say which RAID array it is in',
};

function unknownArrays({ name, baton_contents: contents }: InventoryDisk): readonly RestingArray[] {
  const isAssembled = contents?.some((each) => each.name.startsWith('/dev/md')) ?? false;
  const mayBeMember = contents?.some(({ type }) => type?.endsWith('raid_member')) ?? true;
  return mayBeMember && !isAssembled && !name.startsWith('/dev/md') ? [unknownArray] : [];
}

/**
 * Recognizes the disk itself or a partition of it: `/dev/sda1` of `/dev/sda`, `/dev/md1p2` (and not `/dev/md12`) of `/dev/md1`.
 */
function isPartOf(disk: string, name: string): boolean {
  const rest = /\d$/.test(disk) ? /^p\d+$/ : /^\d+$/;
  return name === disk || (name.startsWith(disk) && rest.test(name.slice(disk.length)));
}
