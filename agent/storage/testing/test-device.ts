import type { BlockDevice } from '#agent/storage/block-device.ts';

/** A free disk of 10 GiB, with what a test wants different. */
export function testDevice(fields: Partial<BlockDevice> = {}): BlockDevice {
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
    hctl: null,
    byPath: null,
    rotational: false,
    tran: null,
    readOnly: false,
    removable: false,
    logicalSectorBytes: 512,
    physicalSectorBytes: 512,
    mountpoints: [],
    holders: [],
    partitions: [],
    ...fields,
  };
}
