import { forgetAgentSession } from '#conductor/agents/agent-session-store.ts';
import { readBiosSettings, replaceBiosSettings } from '#conductor/flows/bmc/bios-store.ts';
import { readFirmware, rememberFirmware } from '#conductor/flows/bmc/firmware-store.ts';
import { ejectBootMedium } from '#conductor/flows/conductor-steps/boot-medium.ts';
import type { ConductorStep, StepContext, WriteFacts } from '#conductor/flows/step-context.ts';
import { type PowerTarget, powerStateAfter } from '#conductor/model/power-and-boot.ts';
import { renewBootDevice } from '#conductor/nodes/boot/boot-device.ts';
import { readFirmwareBoot } from '#conductor/nodes/boot/boot-mode.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Sets power through the BMC and records it. Whatever ends a boot ends its agent session too. */
export async function setPower(context: StepContext, target: PowerTarget, options: PowerOptions = {}): Promise<void> {
  const write = await switchPower(context, target, options);
  await context.record(async (tx) => updateNode(tx, context.node.uuid, await write(tx)));
}

interface PowerOptions {
  /** It boots from what has just been set for this boot: the device that its instance boots from is left out. */
  readonly fromSetDevice?: boolean;
}

/** The same; answers what writes the record of it, for a step that ends with it. */
export async function switchPower(
  context: StepContext,
  target: PowerTarget,
  options: PowerOptions = {},
): Promise<WriteFacts> {
  if (!options.fromSetDevice) {
    await ejectBootMedium(context);
    await renewBootDevice(context.bmc(), target, context);
  }
  await context.bmc().power.setPowerState(target, { signal: context.signal, timeoutMs: context.config.powerTimeoutMs });
  return async (tx) => {
    if (target !== 'power on') await forgetAgentSession(tx, context.node.uuid);
    return { powerState: powerStateAfter(target), powerFailures: 0 };
  };
}

export const powerOff: ConductorStep = {
  interface: 'power',
  step: 'power_off',
  description: 'Powers the machine off through its BMC.',
  run: async (context) => {
    return { kind: 'done', record: await switchPower(context, 'power off') };
  },
};

export const verifyPower: ConductorStep = {
  interface: 'power',
  step: 'verify_power',
  description: 'Proves that the BMC answers with the given credentials, and records the power state.',
  run: async (context) => {
    const powerState = await context.bmc().power.getPowerState({
      signal: context.signal,
      timeoutMs: context.config.powerTimeoutMs,
    });
    if (!powerState) throw new AppError('bmc_error', 'the BMC does not know whether the machine is on');
    const firmware = await readFirmwareBoot(context.bmc(), { log: context.log, signal: context.signal });
    const known = { powerState, powerFailures: 0, ...firmware };
    const settings = await readBiosSettings(context, { describe: true });
    const components = await readFirmware(context);
    return {
      kind: 'done',
      output: { power_state: powerState },
      record: async (tx) => {
        const { uuid } = context.node;
        const now = context.clock.now();
        if (settings) await replaceBiosSettings(tx, uuid, settings, now);
        if (components) await rememberFirmware(tx, uuid, components, { now });
        return known;
      },
    };
  },
};
