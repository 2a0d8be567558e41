import { forgetAgentSession } from '#conductor/agents/agent-session-store.ts';
import type { ConductorStep, StepContext } from '#conductor/flows/step-context.ts';
import type { PowerTarget } from '#conductor/model/power-states.ts';
import { powerStateAfter } from '#conductor/model/power-states.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';

/** Sets power through the BMC and records it. Whatever ends a boot ends its agent session too. */
export async function setPower(context: StepContext, target: PowerTarget): Promise<void> {
  await context.bmc().power.setPowerState(target, { signal: context.signal, timeoutMs: context.config.powerTimeoutMs });
  await context.record(async (tx) => {
    await updateNode(tx, context.node.uuid, { powerState: powerStateAfter(target), powerFailures: 0 });
    if (target !== 'power on') await forgetAgentSession(tx, context.node.uuid);
  });
}

export const powerOff: ConductorStep = {
  interface: 'power',
  step: 'power_off',
  description: 'Powers the machine off through its BMC.',
  run: async (context) => {
    await setPower(context, 'power off');
    return { kind: 'done' };
  },
};
