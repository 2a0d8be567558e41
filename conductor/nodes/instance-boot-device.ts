import type { ManagementInterface } from '#conductor/drivers/interfaces.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { BootDevice } from '#conductor/model/boot.ts';
import { bootModeOf } from '#conductor/nodes/boot-mode.ts';
import { setLastingBootDevice } from '#conductor/nodes/lasting-boot-device.ts';

/**
 * Sets what the instance boots from: for good, or with `driver_info.force_persistent_boot_device` `Never` for its next
 * boot, after which the firmware's own order decides (an ISO that installs to the disk). Answers what the node's row has
 * to remember of it. @throws AppError as the BMC does
 */
export async function setInstanceBootDevice(
  { management }: { readonly management: ManagementInterface },
  device: BootDevice,
  { node, signal }: { readonly node: NodeRow; readonly signal: AbortSignal },
): Promise<Pick<NodeRow, 'renewedBootDevice'>> {
  const options = { signal, bootMode: bootModeOf(node) };
  // Ironic's older `false` is its Default, which is for ramdisks
  const asked = String(node.driverInfo['force_persistent_boot_device']).toLowerCase();
  if (asked !== 'never') return setLastingBootDevice(management, device, options);
  await management.setBootDevice(device, { ...options, persistent: false });
  return { renewedBootDevice: null };
}
