import type { Disk } from '#shared/disks/disk.ts';

/** A free disk of 10 GiB, with what a test wants different. */
export function testDisk(fields: Partial<Disk> = {}): Disk {
  return {
    name: '/dev/vda',
    type: 'disk',
    sizeBytes: 10 * 1024 ** 3,
    model: null,
    vendor: null,
    serial: null,
    wwn: null,
    wwnWithExtension: null,
    wwnVendorExtension: null,
    serials: [],
    wwns: [],
    links: [],
    hctl: null,
    byPath: null,
    rotational: false,
    tran: null,
    readOnly: false,
    removable: false,
    mountpoints: [],
    holders: [],
    ...fields,
  };
}
