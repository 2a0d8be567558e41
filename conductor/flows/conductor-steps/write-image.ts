import { saysItLacks } from '#conductor/agents/agent-client.ts';
import { askForDisks, findAgentSteps } from '#conductor/agents/ask-agent.ts';
import {
  checkAgentStep,
  checkCommand,
  resumeAgentStep,
  resumeStarted,
  sendAgentStep,
  sendCommand,
} from '#conductor/flows/conductor-steps/run-agent-step.ts';
import { registryPatience } from '#conductor/flows/plan/find-planned-image.ts';
import {
  type ConductorStep,
  type ConductorStepOutcome,
  type StepContext,
  stepArgs,
} from '#conductor/flows/step-context.ts';
import { findRegistryImage } from '#conductor/images/find-registry-image.ts';
import { imageOf } from '#conductor/images/kept-chunks.ts';
import { openConfigDrive, openNodeDocument } from '#conductor/kernel/secrets/node-secrets.ts';
import { stepKey } from '#conductor/model/flows/planned-step.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { buildImageInfo, checkImageUrls, withHashPair } from '#conductor/nodes/boot/image-info.ts';
import { osDiskOf, propertiesIn, writtenDevice } from '#conductor/nodes/boot/os-disk.ts';
import { matchDisks } from '#conductor/nodes/inspection/match-disks.ts';
import { readConfigDrive, updateNode } from '#conductor/nodes/node-store.ts';
import { chooseRootDevice } from '#shared/disks/choose-root-device.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';
import type { DiskIdentity, OsDisk } from '#shared/wire/erase-result.ts';

/** The command for deploy steps in an agent that is older than deploy steps, or than this one. */
const oldCommand = 'standby.prepare_image';

export const writeImage: ConductorStep = {
  interface: 'deploy',
  step: 'write_image',
  description: 'Has the agent write image and config drive to the root disk, and records which disk that was.',
  run: async (context) => {
    const { node, secrets } = context;
    const sealed = await context.ask(readConfigDrive(context.db, node.uuid));
    const instanceInfo = openNodeDocument(secrets, node, 'instanceInfo');
    // also what was patched in after the deploy was asked for
    checkImageUrls(instanceInfo, context.config.outbound.images);
    const isOld = await hasNoWriteStep(context);
    const started = await (isOld ? resumeStarted(context, oldCommand) : resumeAgentStep(context));
    if (started) return recordOsDisk(context, started);
    await keepOnlySameDisk(context, instanceInfo);
    const file = await findRegistryImage(context, node, {
      pinned: stepArgs(context)['image'],
      patienceMs: registryPatience.deploy,
      signal: context.signal,
    });
    const image = buildImageInfo({ ...node, instanceInfo }, file);
    const configdrive = openConfigDrive(secrets, node.uuid, sealed) ?? null;
    const outcome = isOld
      ? await prepareImage(context, { image_info: withHashPair(image), configdrive })
      : await sendAgentStep(context, { image_info: image, configdrive });
    return recordOsDisk(context, outcome);
  },
  resume: async (context) => {
    const outcome = await checkAgentStep(context);
    return recordOsDisk(context, outcome.kind === 'again' ? await checkCommand(context, oldCommand) : outcome);
  },
};

async function prepareImage(context: StepContext, params: JsonObject): Promise<ConductorStepOutcome> {
  try {
    return await sendCommand(context, { name: oldCommand, params });
  } catch (cause) {
    if (!saysItLacks(cause, 'standby') && !saysItLacks(cause, 'prepare_image')) throw cause;
    const message =
      'nothing was written: the ramdisk is too old, or was built without it: its agent has neither the step ' +
      `deploy.write_image nor the command ${oldCommand}; boot Baton's own, or a newer ironic-python-agent`;
    throw new AppError('agent_error', message, { cause });
  }
}

/**
 * Checks, by the list that this boot's agent has given, that the agent lacks the step: every agent that has it advertises
 * it.
 */
async function hasNoWriteStep({ ask, db, node }: StepContext): Promise<boolean> {
  const offered = await ask(findAgentSteps(db, node.uuid, 'deploy'));
  return offered !== undefined && !offered.steps.some((each) => stepKey(each) === stepKey(writeImage));
}

/**
 * Forgets the recorded disk before anything is written, unless the same disk is written again. A write that breaks off must
 * not leave an earlier record behind that names another disk: that may be a data disk now. Where it goes to the recorded
 * disk again, that stays known: a redeploy that preserves local storage can be tried again.
 */
async function keepOnlySameDisk(context: StepContext, instanceInfo: JsonObject): Promise<void> {
  const { node, flow } = context;
  if (node.osDisk === null || node.osDisk.flow === flow.uuid) return;
  const recorded = node.osDisk.disks;
  const target = await findTarget(context, instanceInfo);
  const isSame = target !== null && target.disks.length === recorded.length && holds(target, recorded);
  const osDisk = isSame ? { ...target, flow: flow.uuid } : null;
  await context.record((tx) => updateNode(tx, node.uuid, { osDisk }));
}

function holds(target: OsDisk, recorded: OsDisk['disks']): boolean {
  const marks = ({ name: device, serial, serials, wwn, wwns, model, size: sizeBytes }: DiskIdentity) => ({
    device,
    serial,
    serials,
    wwn,
    wwns,
    model,
    sizeBytes,
  });
  return matchDisks(recorded.map(marks), target.disks.map(marks)).unmet.length === 0;
}

/** Finds the disk that the agent is about to choose; `null` where it can't be known. */
async function findTarget(context: StepContext, instanceInfo: JsonObject): Promise<OsDisk | null> {
  try {
    const known = await askForDisks(context.agent());
    const properties = propertiesIn(context.flow.kind, context.node);
    const { name } = chooseRootDevice(known, { properties, instance_info: instanceInfo });
    return osDiskOf(known, name) ?? null;
  } catch (error) {
    if (!['agent_error', 'storage_error', 'invalid_argument', 'not_supported'].includes(errorCode(error))) throw error;
    context.log.warn({ err: error }, 'which disk the image will be written to is not known yet');
    return null;
  }
}

/**
 * Records the disk of the operating system before the step counts as done: a conductor that dies between the two asks the
 * agent for it again.
 */
async function recordOsDisk(context: StepContext, outcome: ConductorStepOutcome): Promise<ConductorStepOutcome> {
  if (outcome.kind !== 'done') return outcome;
  const found = await findOsDisk(context, outcome.output);
  const image = imageOf(context.node.instanceInfo);
  const osDisk = found && { ...found, flow: context.flow.uuid, ...(image ? { image } : {}) };
  await context.record((tx) => updateNode(tx, context.node.uuid, { osDisk }));
  return outcome;
}

/**
 * Finds the disk of the operating system; `null` where it can't be known: the deploy is as good, but its local storage can't
 * be preserved later.
 */
async function findOsDisk(context: StepContext, output: unknown): Promise<OsDisk | null> {
  const device = writtenDevice(output);
  try {
    const disks = await askForDisks(context.agent());
    const found = device && osDiskOf(disks, device);
    if (found) return found;
    context.log.warn({ device, disks: disks.map(({ name }) => name) }, "the image's disk is not in the inventory");
  } catch (error) {
    if (errorCode(error) !== 'agent_error') throw error;
    context.log.warn({ err: error, device }, 'the agent does not report which disk the image was written to');
  }
  return null;
}
