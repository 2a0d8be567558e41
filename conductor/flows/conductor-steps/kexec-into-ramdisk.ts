import { z } from 'zod';
import { forgetAgentSession } from '#conductor/agents/agent-session-store.ts';
import { planWithAgent } from '#conductor/flows/conductor-steps/gather-steps.ts';
import { hasCalledIn, powerIntoRamdisk } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import { connectNode } from '#conductor/flows/conductor-steps/switch-networks.ts';
import { noteOutput } from '#conductor/flows/log/flow-store.ts';
import type { ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { attestationOf } from '#conductor/model/tpm/attestation-mode.ts';
import { listBootEvents } from '#conductor/nodes/boot/boot-event-store.ts';
import { nodeRamdisk, ramdiskBootOf } from '#conductor/nodes/boot/ramdisk-boot.ts';
import { bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { errorChain } from '#shared/errors/app-error.ts';

/**
 * A running system that cooperates (`docs/kexec/baton-kexec`) goes into the ramdisk without the firmware. The BMC presses
 * the power button; the system asks what to boot as iPXE does, and loads kernel and initrd. Then the switch ports are moved
 * to the ramdisk's network, and the button is pressed once more: that is the word to go. A machine of which nothing is seen
 * in time, or that has shut down, is powered off and on as always. After a crash nothing is pressed again.
 */
const checkEveryMs = 1000;
/** For the ramdisk to start and call in, in times that a system has to load it. */
const startsWithin = 5;

const Output = z.object({
  ramdisk_boot: z.literal('kexec'),
  asked_at: z.iso.datetime(),
  went_at: z.iso.datetime().optional(),
});
type Output = z.infer<typeof Output>;

/** Once: a step that has come back to a power-on is not begun so again. Not into a ramdisk that the system can't ask for. */
export async function wantsKexecIntoRamdisk(
  context: Pick<StepContext, 'bmc' | 'config' | 'node' | 'secrets' | 'signal' | 'step'>,
): Promise<boolean> {
  if (ramdiskBootOf(context.node) !== 'kexec' || context.step.output !== null) return false;
  // what is measured stays that of the instance's boot
  if (attestationOf(context.config, context.node) === 'require') return false;
  if (bootsFromVirtualMedia(context.node) || nodeRamdisk(context, context.node) !== undefined) return false;
  if (!context.bmc().power.pressPowerButton) return false;
  return (await context.bmc().power.getPowerState({ signal: context.signal })) === 'power on';
}

/** Recognizes a step that has begun so, and has not come back to a power-on. */
export function isOnItsWay({ step }: StepContext): boolean {
  return Output.safeParse(step.output).success;
}

export async function askSystemForRamdisk(context: StepContext): Promise<ConductorStepOutcome> {
  // before the system loads this boot's token
  await context.record((tx) => forgetAgentSession(tx, context.node.uuid));
  await note(context, { ramdisk_boot: 'kexec', asked_at: context.clock.now().toISOString() });
  return (await press(context)) ?? waitFor('the running system to load the ramdisk: its power button was pressed');
}

/** @param reason what a start through the firmware would wait for */
export async function followSystem(context: StepContext, reason: string): Promise<ConductorStepOutcome> {
  const { asked_at: askedAt, went_at: wentAt } = Output.parse(context.step.output);
  if (wentAt !== undefined && hasCalledIn(context)) return planInRamdisk(context);
  const power = await context.bmc().power.getPowerState({ signal: context.signal });
  if (power === 'power off') return fallBack(context, reason, 'the running system has shut down');
  const now = context.clock.now().getTime();
  const { kexecTimeoutMs } = context.config;
  if (wentAt !== undefined) {
    const isLate = now > Date.parse(wentAt) + startsWithin * kexecTimeoutMs;
    return isLate ? fallBack(context, reason, 'the ramdisk has not called in') : waitForRamdisk();
  }
  if (await hasLoaded(context, new Date(askedAt))) return go(context, askedAt);
  if (now > Date.parse(askedAt) + kexecTimeoutMs) {
    return fallBack(context, reason, 'the running system has not loaded the ramdisk');
  }
  return waitFor(context.step.waitingFor ?? '');
}

/** Plans as `planWithAgent` does; what came of kexec stays in the step's output. */
export async function planInRamdisk(context: StepContext): Promise<ConductorStepOutcome> {
  const planned = await planWithAgent(context);
  const noted = z.looseObject({ ramdisk_boot: z.string() }).safeParse(context.step.output);
  if (planned.kind !== 'done' || !noted.success) return planned;
  return { ...planned, output: Object.assign({}, planned.output, noted.data) };
}

async function hasLoaded({ ask, db, node }: StepContext, since: Date): Promise<boolean> {
  const seen = await ask(listBootEvents(db, node.uuid, { since, until: null }));
  return seen.some(({ event }) => event === 'initrd');
}

async function go(context: StepContext, askedAt: string): Promise<ConductorStepOutcome> {
  await connectNode(context, { purpose: flowKinds[context.flow.kind].ramdiskNetwork });
  await note(context, { ramdisk_boot: 'kexec', asked_at: askedAt, went_at: context.clock.now().toISOString() });
  return (await press(context)) ?? waitForRamdisk();
}

async function press(context: StepContext): Promise<ConductorStepOutcome | undefined> {
  try {
    await context.bmc().power.pressPowerButton?.({ signal: context.signal });
    return undefined;
  } catch (error) {
    context.signal.throwIfAborted();
    const why = context.hide(errorChain(error));
    return fallBack(context, 'first heartbeat of the ramdisk', `its power button could not be pressed: ${why}`);
  }
}

async function fallBack(context: StepContext, waitsFor: string, reason: string): Promise<ConductorStepOutcome> {
  context.log.warn({ reason }, 'the ramdisk is not booted by kexec, but through the firmware');
  await note(context, { ramdisk_boot: 'power', reason });
  return powerIntoRamdisk(context, waitsFor);
}

function note(context: StepContext, output: Output | { readonly ramdisk_boot: 'power'; readonly reason: string }) {
  return context.record((tx) => noteOutput(tx, context.step.uuid, output));
}

function waitForRamdisk(): ConductorStepOutcome {
  return waitFor('the ramdisk, into which the running system has been told to go');
}

function waitFor(reason: string): ConductorStepOutcome {
  return { kind: 'wait', reason, code: 'ramdisk_silent', timeoutMs: Infinity, checkEveryMs };
}
