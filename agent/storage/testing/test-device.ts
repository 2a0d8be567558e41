import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { testDisk } from '#shared/disks/testing/test-disk.ts';

/** A free disk of 10 GiB, with what a test wants different. */
export function testDevice(fields: Partial<BlockDevice> = {}): BlockDevice {
  return { ...testDisk(), logicalSectorBytes: 512, physicalSectorBytes: 512, partitions: [], ...fields };
}
