import { forgetAgentSession } from '#conductor/agents/agent-session-store.ts';
import { askForSteps, sameVersions } from '#conductor/agents/ask-agent.ts';
import { readIpxeSignature } from '#conductor/boot/ipxe-signature.ts';
import { noteReset } from '#conductor/flows/bmc/bios-left-resets.ts';
import { askAhead } from '#conductor/flows/bmc/bios-settings-ahead.ts';
import { isHttpAnswer } from '#conductor/flows/bmc/hold-power.ts';
import { checkBootMedium, insertBootMedium } from '#conductor/flows/conductor-steps/boot-medium.ts';
import { setPower } from '#conductor/flows/conductor-steps/power.ts';
import { bootFrom } from '#conductor/flows/conductor-steps/prepare-instance-boot.ts';
import { connectNode } from '#conductor/flows/conductor-steps/switch-networks.ts';
import { hasSucceeded, stepsOf } from '#conductor/flows/log/flow-store.ts';
import { describeUnprovable } from '#conductor/flows/network/served-boot.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { BootDevice } from '#conductor/model/power-and-boot.ts';
import { attestationOf } from '#conductor/model/tpm/attestation-mode.ts';
import { describeDistrust } from '#conductor/model/tpm/judge-boot.ts';
import { setOfferedBootDevice } from '#conductor/nodes/boot/boot-device.ts';
import { bootModeOf, readFirmwareBoot } from '#conductor/nodes/boot/boot-mode.ts';
import { whyBootIsRefused } from '#conductor/nodes/boot/refused-boot.ts';
import { bootsByHttp, bootsFromVirtualMedia, networkBootDevice } from '#conductor/nodes/node-interfaces.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { findNodeTpm, wasTrusted } from '#conductor/nodes/tpm/tpm-store.ts';
import { AppError, errorChain, faultOf, isRetryable } from '#shared/errors/app-error.ts';

/**
 * Powers the machine into the ramdisk. The order matters: off first, so that whatever runs on the machine never sees
 * the provisioning network, and so that the boot is a cold one.
 */
export async function powerIntoRamdisk(context: StepContext, reason: string): Promise<ConductorStepOutcome> {
  const isVirtual = bootsFromVirtualMedia(context.node);
  // what runs is not switched off for a boot that could not be, or that nobody would trust
  await requireProvable(context);
  if (isVirtual || bootsByHttp(context.node)) await checkBootMedium(context);
  await requireTakenBoot(context);
  await setPower(context, 'power off');
  await connectNode(context, { purpose: flowKinds[context.flow.kind].ramdiskNetwork });
  if (isVirtual) await insertBootMedium(context);
  await setBootDeviceOnce(context, isVirtual ? 'cdrom' : networkBootDevice(context.node));
  // the device brought its mode along, where the BMC takes one
  const firmware = await readFirmwareBoot(context.bmc(), { log: context.log, signal: context.signal });
  await context.record(async (tx) => {
    // once more: a lookup of the ramdisk before may have been on its way, and would keep the next boot from its token
    if (!isVirtual) await forgetAgentSession(tx, context.node.uuid);
    if (Object.keys(firmware).length > 0) await updateNode(tx, context.node.uuid, firmware);
  });
  await context.noteOff();
  await setPower(context, 'power on', { fromSetDevice: true });
  return waitForAgent(context, reason);
}

/**
 * Fails before the machine is switched where its firmware is known to refuse the loader, as its BMC says now; another DHCP
 * server may send another one.
 * @throws AppError `conflict`
 */
async function requireTakenBoot(context: StepContext): Promise<void> {
  const { node, config, log, signal } = context;
  if (!config.dhcp) return;
  const ipxe = await readIpxeSignature(config.dhcp.tftpDirectory);
  if (whyBootIsRefused(node, ipxe) === undefined) return;
  const firmware = await readFirmwareBoot(context.bmc(), { log, signal });
  const refusal = whyBootIsRefused({ ...node, ...firmware }, ipxe);
  if (refusal !== undefined) throw new AppError('conflict', refusal, { situation: 'boot_refused' });
}

async function setBootDeviceOnce(context: StepContext, device: BootDevice): Promise<void> {
  const { management } = context.bmc();
  const options = { persistent: false, bootMode: bootModeOf(context.node), signal: context.signal };
  await setOfferedBootDevice({ management, log: context.log }, device, (offered) =>
    management.setBootDevice(offered, options),
  );
}

export function waitForAgent(context: StepContext, reason: string): ConductorStepOutcome {
  const ownTimeout = context.step.plugin?.timeout;
  const timeoutMs = ownTimeout === undefined ? context.config.callbackTimeoutMs : ownTimeout * 1000;
  return { kind: 'wait', reason, code: 'ramdisk_silent', timeoutMs, checkEveryMs: Math.min(30_000, timeoutMs / 2) };
}

/**
 * Whether the agent that has called in belongs to a boot that was trusted, where it has to be: a session of before the
 * setting, or of a conductor without it, does not.
 */
export async function isTrusted({ ask, config, db, node, session }: Boot): Promise<boolean> {
  if (attestationOf(config, node) !== 'require') return true;
  if (!session) return false;
  if (session.attestation) return session.attestation.verdict === 'trusted';
  return wasTrusted(await ask(findNodeTpm(db, node.uuid)), session);
}
type Boot = Pick<StepContext, 'ask' | 'config' | 'db' | 'node' | 'session'>;

const situation = { situation: 'boot_not_trusted' } as const;

/**
 * Refuses a boot that can't be trusted whatever the machine does, where it has to be: before its power is touched.
 * @throws AppError `unauthorized` with the reason
 */
async function requireProvable(context: StepContext): Promise<void> {
  if (attestationOf(context.config, context.node) !== 'require') return;
  const problem = await describeUnprovable(context, context.node);
  if (problem !== undefined)
    throw new AppError('unauthorized', describeDistrust({ verdict: 'unknown', reasons: [problem] }), situation);
}

/**
 * Fails the step as soon as the node's machine is known to have booted what is not trusted, or to prove nothing, where it
 * has to.
 * @throws AppError `unauthorized` with the reasons
 */
export async function requireTrusted(context: Boot): Promise<void> {
  if (await isTrusted(context)) return;
  const attestation = context.session?.attestation;
  if (attestation) throw new AppError('unauthorized', describeDistrust(attestation), situation);
  if (hasCalledIn(context))
    throw new AppError('unauthorized', 'the agent that has called in has not proved what it runs on', situation);
}

/** The agent has called in since the machine was powered on. */
export function hasCalledIn(context: Pick<StepContext, 'session'>): boolean {
  return context.session?.lastHeartbeatAt !== undefined && context.session.lastHeartbeatAt !== null;
}

const comesBack = 'the ramdisk to come back after the reboot';

function rebootIntoRamdisk(context: StepContext): Promise<ConductorStepOutcome> {
  return powerIntoRamdisk(context, comesBack);
}

async function awaitRamdisk(context: StepContext): Promise<ConductorStepOutcome> {
  await requireTrusted(context);
  if (!hasCalledIn(context)) return waitForAgent(context, comesBack);
  await checkSameRamdisk(context);
  // that the instance boots from its disk had been set before the reboot, which took the boot device's place
  return (await hasSucceeded(context, 'prepare_instance_boot')) ? bootFrom(context, 'disk') : { kind: 'done' };
}

/**
 * After a reboot amid the flow: the ramdisk must be the one that the plan was made with.
 * @throws AppError `version_mismatch`
 */
async function checkSameRamdisk(context: StepContext): Promise<void> {
  const { inBand } = flowKinds[context.flow.kind];
  const planned = context.flow.hardwareManagerVersion;
  if (!inBand || !planned) return;
  const { version } = await askForSteps(context, inBand.kind);
  if (sameVersions(planned, version)) return;
  throw new AppError(
    'version_mismatch',
    `the agent came back with other hardware managers: ${JSON.stringify(version)}, planned with ${JSON.stringify(planned)}`,
    { situation: 'other_ramdisk' },
  );
}

/** Whether the firmware, at this boot, takes what the agent has set or written before it. */
async function followsSettings(context: StepContext): Promise<boolean> {
  const steps = await stepsOf(context);
  const before = steps.findLast(({ position, inBand }) => inBand && position < context.step.position);
  return before !== undefined && ['bios', 'firmware'].includes(before.interface) && before.state === 'succeeded';
}

/** Follows a step whose definition says `reboot_requested`. */
export const rebootRamdisk: ConductorStep = {
  interface: 'deploy',
  step: 'reboot_ramdisk',
  description: 'Reboots the machine into the ramdisk, as the step before it asks.',
  mustNotLosePower: async (context) =>
    (await followsSettings(context)) ? context.config.callbackTimeoutMs : undefined,
  run: async (context) => {
    await askAhead(context);
    return rebootIntoRamdisk(context);
  },
  resume: awaitRamdisk,
};

/** Starts the machine again, as it boots by itself; once, also where a conductor dies amid that. */
async function offAndOn(context: StepContext): Promise<void> {
  await setPower(context, 'power off');
  await context.noteOff();
  await setPower(context, 'power on');
}

/** Steps that an operator may list between others: where the flow has a ramdisk, power comes back with it. */
async function hasRamdisk(context: StepContext): Promise<boolean> {
  const steps = await stepsOf(context);
  return steps.some((step) => step.step === 'boot_ramdisk');
}

const powerStep = (step: string, target: 'power on' | 'rebooting', description: string): ConductorStep => ({
  interface: 'power',
  step,
  description,
  run: async (context) => {
    if (await hasRamdisk(context)) return rebootIntoRamdisk(context);
    await (target === 'rebooting' ? offAndOn(context) : setPower(context, target));
    return { kind: 'done' };
  },
  resume: async (context) => {
    if (await hasRamdisk(context)) return awaitRamdisk(context);
    await setPower(context, 'power on');
    return { kind: 'done' };
  },
});

export const powerOn = powerStep(
  'power_on',
  'power on',
  'On request: powers the machine on, into the ramdisk where the flow runs in one.',
);

export const rebootStep = powerStep(
  'reboot',
  'rebooting',
  'On request: reboots the machine, into the ramdisk where the flow runs in one.',
);

/**
 * For driver's steps whose changes take effect at a reset. A cold start: into the ramdisk where the flow has one running, whose agent is then awaited, else as the machine boots
 * by itself (before the ramdisk, or without).
 */
export async function resetMachine(
  context: StepContext,
  resume: (context: StepContext) => Promise<ConductorStepOutcome>,
): Promise<ConductorStepOutcome> {
  if (context.step.interface !== 'bios') await askAhead(context);
  const isUp = await ramdiskIsUp(context);
  const outcome = isUp ? await rebootIntoRamdisk(context) : undefined;
  if (!outcome) await offAndOn(context);
  // noted before, a reset that does not come would be awaited for good; noted late it costs one more
  await noteReset(context);
  return outcome ?? orLater(context, resume);
}

/** A BMC that doesn't answer after the reset is asked again: what the reset began goes on. */
async function orLater(
  context: StepContext,
  resume: (context: StepContext) => Promise<ConductorStepOutcome>,
): Promise<ConductorStepOutcome> {
  try {
    return await resume(context);
  } catch (error) {
    if (context.signal.aborted || !(isHttpAnswer(error) || isRetryable(error))) throw error;
    const { callbackTimeoutMs: timeoutMs } = context.config;
    const reason = `the BMC to answer after the reset: ${errorChain(error)}`;
    return { kind: 'wait', reason, ...faultOf(error), timeoutMs, checkEveryMs: Math.min(5_000, timeoutMs / 4) };
  }
}

/** `done` once the ramdisk is back, where the flow has one running. */
export async function awaitReset(context: StepContext): Promise<ConductorStepOutcome> {
  if (!(await ramdiskIsUp(context))) return { kind: 'done' };
  return hasCalledIn(context) ? awaitRamdisk(context) : awaitOrBoot(context);
}

/** The session is gone: the machine was reset and is on its way, unless the conductor died before it switched it on. */
async function awaitOrBoot(context: StepContext): Promise<ConductorStepOutcome> {
  const power = await context.bmc().power.getPowerState({ signal: context.signal });
  return power === 'power off' ? rebootIntoRamdisk(context) : awaitRamdisk(context);
}

/** Whether this flow has its ramdisk running: booted, and not yet torn down. */
export async function ramdiskIsUp(context: StepContext): Promise<boolean> {
  const steps = await stepsOf(context);
  const last = steps.findLast(
    ({ interface: stepInterface, step, state }) =>
      stepInterface === 'deploy' &&
      ['deploy', 'boot_ramdisk', 'reboot_ramdisk', 'tear_down_agent'].includes(step) &&
      state === 'succeeded',
  );
  return last !== undefined && last.step !== 'tear_down_agent';
}
