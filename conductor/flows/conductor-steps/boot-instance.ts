import { requireVirtualMedia } from '#conductor/flows/conductor-steps/boot-medium.ts';
import { checkDeparture, goByKexec, parkedUntil } from '#conductor/flows/conductor-steps/kexec.ts';
import { setPower, switchPower } from '#conductor/flows/conductor-steps/power-off.ts';
import { listSteps } from '#conductor/flows/flow-store.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import { checkImageUrls } from '#conductor/nodes/image-urls.ts';
import { setInstanceBootDevice } from '#conductor/nodes/instance-boot-device.ts';
import { bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { ramdiskInstance, runsFromRamdisk } from '#conductor/nodes/ramdisk-instance.ts';
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
    return { kind: 'done', record: () => Promise.resolve({ powerState: 'power on', powerFailures: 0 }) };
  }
  // before each start, for a rescue or a service may have had the boot device in between
  const kept = await setInstanceBootDevice(context.bmc(), isVirtual ? 'cdrom' : 'pxe', { node, signal });
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
  if (await hasWrittenImage(context)) return;
  await context.record((tx) => updateNode(tx, context.node.uuid, { osDisk: null }));
}

/** The flow has written the instance's image. */
export async function hasWrittenImage(context: StepContext): Promise<boolean> {
  const steps = await context.ask(listSteps(context.db, context.flow.uuid));
  return steps.some(({ step, state }) => step === 'write_image' && state === 'succeeded');
}
