import { forgetAgentSession } from '#conductor/agents/agent-session-store.ts';
import { ejectBootMedium } from '#conductor/flows/conductor-steps/boot-medium.ts';
import type { ConductorStep, StepContext, WriteFacts } from '#conductor/flows/step-context.ts';
import type { PowerTarget } from '#conductor/model/power-states.ts';
import { powerStateAfter } from '#conductor/model/power-states.ts';
import { renewBootDevice } from '#conductor/nodes/lasting-boot-device.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';

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
