import { z } from 'zod';
import { forgetAgentSession } from '#conductor/agents/agent-session-store.ts';
import { dumpNode } from '#conductor/agents/node-dump.ts';
import { ejectBootMedium, requireVirtualMedia } from '#conductor/flows/conductor-steps/boot-medium.ts';
import { setPower, switchPower } from '#conductor/flows/conductor-steps/power.ts';
import { checkCommand, resumeStarted, sendCommand } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import { hasSucceeded, noteOutput, stepsOf } from '#conductor/flows/log/flow-store.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext, WriteFacts } from '#conductor/flows/step-context.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import { renewBootDevice, setInstanceBootDevice, setOfferedBootDevice } from '#conductor/nodes/boot/boot-device.ts';
import { checkImageUrls } from '#conductor/nodes/boot/image-info.ts';
import { ramdiskInstance, runsFromRamdisk } from '#conductor/nodes/boot/ramdisk-instance.ts';
import { bootsFromVirtualMedia, networkBootDevice } from '#conductor/nodes/node-interfaces.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';

export const bootInstance: ConductorStep = {
  interface: 'deploy',
  step: 'boot_instance',
  description:
    'Powers the machine on into its own operating system, ramdisk or ISO, or presses its power button for kexec.',
  run: async (context) => {
    if (context.flow.kind === 'deploy' && context.node.osDisk !== null) await forgetEarlierDisk(context);
    if (await parkedUntil(context)) return goByKexec(context);
    return powerOnInstance(context);
  },
  resume: async (context) => {
    const until = await parkedUntil(context);
    if (until) return checkDeparture(context, until);
    return powerOnInstance(context);
  },
};

async function powerOnInstance(context: StepContext): Promise<ConductorStepOutcome> {
  if (!runsFromRamdisk(context.node)) return { kind: 'done', record: await switchPower(context, 'power on') };
  const { node, signal, secrets } = context;
  const instanceInfo = openNodeDocument(secrets, node, 'instanceInfo');
  checkImageUrls(instanceInfo, context.config.outbound.images);
  const instance = ramdiskInstance({ ...node, instanceInfo });
  const isVirtual = bootsFromVirtualMedia(node) && instance.kind === 'iso';
  if (isVirtual && (await loadDrive(context, instance.url)) === 'runs') {
    return { kind: 'done', record: runs };
  }
  // before each start, for a rescue or a service may have had the boot device in between
  const bmc = context.bmc();
  const from = isVirtual ? 'cdrom' : networkBootDevice(node);
  const kept = await setOfferedBootDevice({ ...bmc, log: context.log }, from, (device) =>
    setInstanceBootDevice(bmc, device, { node, signal }),
  );
  // at once: once it runs, it is not set again
  if (kept.renewedBootDevice !== node.renewedBootDevice) await context.record((tx) => updateNode(tx, node.uuid, kept));
  return { kind: 'done', record: await switchPower(context, 'power on', { fromSetDevice: true }) };
}

/**
 * Puts the ISO into the drive of a machine that is off: one that runs from it would lose its disk. A machine that is on
 * with the ISO in its drive runs it: this step has switched it on before, or no step of the flow has switched it off.
 */
async function loadDrive(context: StepContext, url: string): Promise<'runs' | 'loaded'> {
  const { signal, isRepeated } = context;
  const media = requireVirtualMedia(context);
  // BMCs may hide a login that they were given
  const isIso = (image: string): boolean => maskUrlLogins(image) === maskUrlLogins(url);
  const isIn = (await media.list({ signal })).some(({ inserted, image }) => inserted && image !== null && isIso(image));
  const power = await context.bmc().power.getPowerState({ signal });
  if (isIn && power === 'power on') return 'runs';
  // a BMC may be late to say that the machine is on
  if (isIn && (isRepeated || power !== 'power off')) return 'loaded';
  if (power !== 'power off') await setPower(context, 'power off', { fromSetDevice: true });
  await media.insert(url, { signal });
  return 'loaded';
}

/** An instance that boots from a volume may have its data on the disk that an earlier one's image was written to. */
async function forgetEarlierDisk(context: StepContext): Promise<void> {
  if (await hasSucceeded(context, 'write_image')) return;
  await context.record((tx) => updateNode(tx, context.node.uuid, { osDisk: null }));
}

/**
 * A deploy that ends without a second start of the firmware. `tear_down_agent` has the agent load the written system's
 * kernel and wait for the power button, within a time after which it powers the machine off; then the switch port is
 * moved, where no command reaches the agent any more; `boot_instance` has the BMC press the button, once. A machine that
 * is on after that time has gone; one that is off is switched on, as without kexec.
 */

const command = 'standby.park_for_kexec';
const checkEveryMs = 2_000;
const runs: WriteFacts = () => Promise.resolve({ powerState: 'power on', powerFailures: 0 });
/** For the agent's clock to be done before ours. */
const graceMs = 2_000;

const Loaded = z.object({
  entry: z.string(),
  kernel: z.string(),
  initrds: z.array(z.string()),
  command_line: z.string(),
});
const Parked = Loaded.extend({ deploy_boot: z.literal('kexec'), parked_until: z.iso.datetime() });

export function wantsKexec({ step }: Pick<StepContext, 'step'>): boolean {
  return step.args['deploy_boot'] === 'kexec';
}

/** @returns the outcome of tear_down_agent; `refused` where the machine is to be powered off, and why */
export async function parkMachine(
  context: StepContext,
  mode: 'run' | 'resume',
): Promise<ConductorStepOutcome | { readonly kind: 'refused'; readonly reason: string }> {
  try {
    const outcome =
      mode === 'resume'
        ? await checkCommand(context, command)
        : ((await resumeStarted(context, command)) ?? (await sendCommand(context, request(context))));
    if (outcome.kind !== 'done') return outcome;
    const loaded = Loaded.safeParse(outcome.output);
    if (!loaded.success) return { kind: 'refused', reason: 'the agent did not say what it has loaded' };
    await ejectBootMedium(context);
    // at the latest: it may have been parked before a conductor died
    const until = new Date(context.clock.now().getTime() + context.config.kexecTimeoutMs).toISOString();
    return { kind: 'done', output: { deploy_boot: 'kexec', ...loaded.data, parked_until: until } };
  } catch (error) {
    if (context.signal.aborted || errorCode(error) !== 'agent_error') throw error;
    return { kind: 'refused', reason: context.hide(errorChain(error)) };
  }
}

function request(context: StepContext): Parameters<typeof sendCommand>[1] {
  const node = dumpNode(context.secrets, context.node, context.flow);
  return { name: command, params: { node, seconds: Math.ceil(context.config.kexecTimeoutMs / 1000) } };
}

/** Returns the latest time until which the machine stays parked; `undefined` = it is off. */
async function parkedUntil(context: StepContext): Promise<Date | undefined> {
  if (!wantsKexec(context)) return undefined;
  const steps = await stepsOf(context);
  const tornDown = steps.findLast(({ step, state }) => step === 'tear_down_agent' && state === 'succeeded');
  const parked = Parked.safeParse(tornDown?.output);
  return parked.success ? new Date(parked.data.parked_until) : undefined;
}

/** A system that runs takes the button as the word to shut down: so it is never pressed a second time. */
async function goByKexec(context: StepContext): Promise<ConductorStepOutcome> {
  const { signal, log } = context;
  if (context.isRepeated) return awaitDeparture('the button may have been pressed before the conductor was restarted');
  if ((await context.bmc().power.getPowerState({ signal })) === 'power off') return fallBack(context);
  await renewBootDevice(context.bmc(), 'power on', context);
  // the ramdisk's memory, with its token, is the next kernel's to read
  await context.record((tx) => forgetAgentSession(tx, context.node.uuid));
  try {
    await context.bmc().power.pressPowerButton?.({ signal });
  } catch (error) {
    signal.throwIfAborted();
    log.warn({ err: error }, 'power button not pressed');
    return awaitDeparture(`its power button could not be pressed: ${context.hide(errorChain(error))}`);
  }
  return awaitDeparture('its power button was pressed');
}

function awaitDeparture(why: string): ConductorStepOutcome {
  return waitForMachine(`the machine to be on its way by kexec, or to power itself off (${why})`);
}

function waitForMachine(reason: string, everyMs = checkEveryMs): ConductorStepOutcome {
  return { kind: 'wait', reason, code: 'machine_wait', timeoutMs: Infinity, checkEveryMs: everyMs };
}

const FellBack = z.object({ deploy_boot: z.literal('reboot'), reason: z.string() });

/**
 * Has a machine that is off start from its disk, and records that before it is switched on: after a crash nothing else shows
 * why it is on.
 */
async function fallBack({ step, log, record }: StepContext): Promise<ConductorStepOutcome> {
  log.warn({ step: step.step }, 'kexec: the machine is off, it is started from its disk');
  const reason = 'the machine was off, and so had not gone into its system by kexec';
  await record((tx) => noteOutput(tx, step.uuid, { deploy_boot: 'reboot', reason } satisfies z.infer<typeof FellBack>));
  return waitForMachine('the machine to be switched on', 1);
}

/** @param until when the agent has powered off a machine that has not gone */
async function checkDeparture(context: StepContext, until: Date): Promise<ConductorStepOutcome> {
  const fellBack = FellBack.safeParse(context.step.output);
  if (fellBack.success) return { kind: 'done', output: fellBack.data, record: await switchPower(context, 'power on') };
  const power = await context.bmc().power.getPowerState({ signal: context.signal });
  if (power === 'power off') return fallBack(context);
  const isOver = context.clock.now().getTime() > until.getTime() + graceMs;
  if (!isOver || power === undefined) return waitForMachine(context.step.waitingFor ?? '');
  return { kind: 'done', output: { deploy_boot: 'kexec' }, record: runs };
}
