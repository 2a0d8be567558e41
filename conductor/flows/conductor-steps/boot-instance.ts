import { requireVirtualMedia } from '#conductor/flows/conductor-steps/boot-medium.ts';
import { checkDeparture, goByKexec, parkedUntil } from '#conductor/flows/conductor-steps/kexec.ts';
import { switchPower } from '#conductor/flows/conductor-steps/power-off.ts';
import { listSteps } from '#conductor/flows/flow-store.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import { checkImageUrls } from '#conductor/nodes/image-urls.ts';
import { setInstanceBootDevice } from '#conductor/nodes/instance-boot-device.ts';
import { bootsFromVirtualMedia } from '#conductor/nodes/node-interfaces.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { ramdiskInstance, runsFromRamdisk } from '#conductor/nodes/ramdisk-instance.ts';

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
  const kept = await prepareRamdiskInstance(context);
  const record = await switchPower(context, 'power on', { fromSetDevice: true });
  return { kind: 'done', record: async (tx) => ({ ...(await record(tx)), ...kept }) };
}

/** Before each start, for a rescue or a service may have had the drive, and the boot device, in between. */
async function prepareRamdiskInstance(context: StepContext): Promise<Pick<NodeRow, 'renewedBootDevice'>> {
  const { node, signal, secrets } = context;
  const instanceInfo = openNodeDocument(secrets, node, 'instanceInfo');
  checkImageUrls(instanceInfo, context.config.outbound.images);
  const instance = ramdiskInstance({ ...node, instanceInfo });
  const isVirtual = bootsFromVirtualMedia(node) && instance.kind === 'iso';
  if (isVirtual) await requireVirtualMedia(context).insert(instance.url, { signal });
  return setInstanceBootDevice(context.bmc(), isVirtual ? 'cdrom' : 'pxe', { node, signal });
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
