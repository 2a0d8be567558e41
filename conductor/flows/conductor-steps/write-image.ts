import { checkAgentStep, startAgentStep } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { askForInventory } from '#conductor/inspection/ask-for-inventory.ts';
import { toKnownDisk } from '#conductor/inspection/known-disk.ts';
import { buildImageInfo } from '#conductor/nodes/image-info.ts';
import { checkImageUrls } from '#conductor/nodes/image-urls.ts';
import { readConfigDrive, updateNode } from '#conductor/nodes/node-store.ts';
import { osDiskOf, writtenDevice } from '#conductor/nodes/os-disk.ts';
import { openConfigDrive, openNodeDocument } from '#conductor/secrets/node-secrets.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import type { OsDisk } from '#shared/wire/erase-result.ts';
import { InventoryDocument } from '#shared/wire/inventory.ts';

export const writeImage: ConductorStep = {
  interface: 'deploy',
  step: 'write_image',
  description:
    "Has the agent write the instance's image and config drive to the root disk, and records which disk that was.",
  run: async (context) => {
    const { node, secrets } = context;
    const sealed = await context.ask(readConfigDrive(context.db, node.uuid));
    const instanceInfo = openNodeDocument(secrets, node, 'instanceInfo');
    // also what was patched in after the deploy was asked for
    checkImageUrls(instanceInfo, context.config.outbound.images);
    const outcome = await startAgentStep(context, {
      image_info: buildImageInfo({ ...node, instanceInfo }),
      configdrive: openConfigDrive(secrets, node.uuid, sealed) ?? null,
    });
    return recordOsDisk(context, outcome);
  },
  resume: async (context) => recordOsDisk(context, await checkAgentStep(context)),
};

/** Recorded before the step counts as done: a conductor that dies between the two asks the agent for it again. */
async function recordOsDisk(context: StepContext, outcome: ConductorStepOutcome): Promise<ConductorStepOutcome> {
  if (outcome.kind !== 'done') return outcome;
  const osDisk = await findOsDisk(context, outcome.output);
  await context.record((tx) => updateNode(tx, context.node.uuid, { osDisk }));
  return outcome;
}

/** `null` where it can't be told: the deploy is as good, but its local storage can't be preserved later. */
async function findOsDisk(context: StepContext, output: unknown): Promise<OsDisk | null> {
  const device = writtenDevice(output);
  try {
    const { disks } = InventoryDocument.parse(await askForInventory(context.agent()));
    const found = device && osDiskOf(disks.map(toKnownDisk), device);
    if (found) return found;
    context.log.warn({ device, disks: disks.map(({ name }) => name) }, "the image's disk is not in the inventory");
  } catch (error) {
    if (errorCode(error) !== 'agent_error') throw error;
    context.log.warn({ err: error, device }, 'the agent does not tell which disk the image was written to');
  }
  return null;
}
