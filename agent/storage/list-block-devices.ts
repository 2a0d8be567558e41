import type { BlockDevice } from '#agent/storage/block-device.ts';
import { addIdentity, type DeviceRoots, systemRoots } from '#agent/storage/device-identity.ts';
import { runLsblk } from '#agent/storage/lsblk.ts';
import type { Run } from '#shared/process/run.ts';

/**
 * All whole block devices of this machine, by name (optical drives included: the caller decides what counts).
 * Identity comes from lsblk, udev's database where udev runs, and /sys.
 * @param options.withEmpty also disks that show no capacity: broken and locked ones, empty card readers
 * @throws AppError `command_failed` when lsblk fails, `storage_error` when its output can't be read.
 */
export async function listBlockDevices(
  run: Run,
  roots: DeviceRoots = systemRoots,
  options: { readonly withEmpty?: boolean } = {},
): Promise<readonly BlockDevice[]> {
  const listed = await runLsblk(run, [], options);
  // free loop devices and RAM disks are no disks
  const devices = listed.filter(({ type, sizeBytes }) => sizeBytes > 0 || type === 'disk');
  // a RAID volume stands under each of its members in the tree: name it once, as a device of its own
  const holders = [...new Set(devices.flatMap((device) => device.holders))];
  const above = holders.length === 0 ? [] : await runLsblk(run, holders);
  const byName = new Map([...devices, ...above].map((device) => [device.name, device]));
  const named = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return Promise.all(named.map((device) => addIdentity(run, device, roots)));
}
