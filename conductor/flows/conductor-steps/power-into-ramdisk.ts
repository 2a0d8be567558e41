import { forgetAgentSession } from '#conductor/agents/agent-session-store.ts';
import { checkBootMedium, insertBootMedium } from '#conductor/flows/conductor-steps/boot-medium.ts';
import { connectNode } from '#conductor/flows/conductor-steps/leave-network.ts';
import { setPower } from '#conductor/flows/conductor-steps/power-off.ts';
import type { ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import type { BootDevice } from '#conductor/model/boot.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import { bootModeOf } from '#conductor/nodes/boot-mode.ts';
import { bootsByHttp, bootsFromVirtualMedia, networkBootDevice } from '#conductor/nodes/node-interfaces.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { readFirmwareBoot } from '#conductor/nodes/read-firmware-boot.ts';
import { errorCode } from '#shared/errors/app-error.ts';

/**
 * Powers the machine into the ramdisk. The order matters: off first, so that whatever runs on the machine never sees
 * the provisioning network, and so that the boot is a cold one.
 */
export async function powerIntoRamdisk(context: StepContext, reason: string): Promise<ConductorStepOutcome> {
  await setPower(context, 'power off');
  await connectNode(context, { purpose: flowKinds[context.flow.kind].ramdiskNetwork });
  const isVirtual = bootsFromVirtualMedia(context.node);
  if (isVirtual) await insertBootMedium(context);
  else if (bootsByHttp(context.node)) await checkBootMedium(context);
  await setBootDeviceOnce(context, isVirtual ? 'cdrom' : networkBootDevice(context.node));
  // the device brought its mode along, where the BMC takes one
  const firmware = await readFirmwareBoot(context.bmc(), { log: context.log, signal: context.signal });
  await context.record(async (tx) => {
    // once more: a lookup of the ramdisk before may have been on its way, and would keep the next boot from its token
    if (!isVirtual) await forgetAgentSession(tx, context.node.uuid);
    if (Object.keys(firmware).length > 0) await updateNode(tx, context.node.uuid, firmware);
  });
  await setPower(context, 'power on', { fromSetDevice: true });
  return waitForAgent(context, reason);
}

async function setBootDeviceOnce(context: StepContext, device: BootDevice): Promise<void> {
  const { management } = context.bmc();
  const options = { persistent: false, bootMode: bootModeOf(context.node), signal: context.signal };
  try {
    if (device !== 'uefihttp' || management.supportedBootDevices.includes(device)) {
      return void (await management.setBootDevice(device, options));
    }
  } catch (error) {
    if (device !== 'uefihttp' || errorCode(error) !== 'not_supported') throw error;
  }
  // the firmware's own order of network boots decides then
  context.log.info('the BMC does not offer HTTP boot: booting from the network');
  await management.setBootDevice('pxe', options);
}

export function waitForAgent(context: StepContext, reason: string): ConductorStepOutcome {
  const ownTimeout = context.step.plugin?.timeout;
  const timeoutMs = ownTimeout === undefined ? context.config.callbackTimeoutMs : ownTimeout * 1000;
  return { kind: 'wait', reason, timeoutMs, checkEveryMs: Math.min(30_000, timeoutMs / 2) };
}

/** The agent has called in since the machine was powered on. */
export function hasCalledIn(context: StepContext): boolean {
  return context.session?.lastHeartbeatAt !== undefined && context.session.lastHeartbeatAt !== null;
}
