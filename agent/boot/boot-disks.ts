import type { BlockDevice } from '#agent/storage/block-device.ts';

/** The disks that the firmware can boot `device` from: itself, or for an array every disk with a member of it. */
export function bootDisksOf(device: BlockDevice, all: readonly BlockDevice[]): readonly BlockDevice[] {
  if (!device.type.startsWith('raid')) return [device];
  return all.filter((each) => each.type === 'disk' && each.holders.includes(device.name));
}
