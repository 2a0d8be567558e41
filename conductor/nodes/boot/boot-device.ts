import type { Bmc, ManagementInterface } from '#conductor/drivers/interfaces.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { BootDevice, BootMode, PowerTarget } from '#conductor/model/power-and-boot.ts';
import { bootModeOf } from '#conductor/nodes/boot/boot-mode.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/**
 * Sets the boot device for all boots; answers what the node's row has to remember of it: the device, where the BMC
 * takes it for one boot only. @throws AppError as the BMC does
 */
export async function setLastingBootDevice(
  management: ManagementInterface,
  device: BootDevice,
  options: { readonly signal: AbortSignal; readonly bootMode?: BootMode },
): Promise<Pick<NodeRow, 'renewedBootDevice'>> {
  const { persistent } = await management.setBootDevice(device, { ...options, persistent: true });
  return { renewedBootDevice: persistent ? null : device };
}

/**
 * Sets the remembered boot device again, before a boot. One that somebody has set for the next boot comes first. Without it
 * the machine may still boot as it should: a failure is logged, as Ironic does (`restore_boot_device`).
 */
export async function renewBootDevice(
  { management }: Bmc,
  target: PowerTarget,
  about: { readonly node: Pick<NodeRow, 'renewedBootDevice'>; readonly log: Log; readonly signal: AbortSignal },
): Promise<void> {
  const { signal } = about;
  const device = about.node.renewedBootDevice;
  if (device === null || target === 'power off' || target === 'soft power off') return;
  try {
    const set = await management.getBootDevice({ signal });
    if ((set.bootDevice ?? set.other) !== undefined && set.persistent === false) return;
    await management.setBootDevice(device, { persistent: false, signal });
  } catch (error) {
    signal.throwIfAborted();
    about.log.warn({ err: error, device }, 'boot device not set again');
  }
}

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

/** Sets the device, and where the BMC does not offer HTTP boot the network: the firmware's own order decides then. */
export async function setOfferedBootDevice<T>(
  { management, log }: { readonly management: ManagementInterface; readonly log: Log },
  device: BootDevice,
  set: (device: BootDevice) => Promise<T>,
): Promise<T> {
  try {
    if (device !== 'uefihttp' || management.supportedBootDevices.includes(device)) return await set(device);
  } catch (error) {
    if (device !== 'uefihttp' || errorCode(error) !== 'not_supported') throw error;
  }
  log.info('the BMC does not offer HTTP boot: booting from the network');
  return set('pxe');
}
