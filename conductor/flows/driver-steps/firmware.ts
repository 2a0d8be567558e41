import { z } from 'zod';
import type { TaskProgress } from '#conductor/drivers/interfaces.ts';
import { readFirmware, rememberFirmware } from '#conductor/flows/bmc/firmware-store.ts';
import { forgetReset, hasBeenReset, prolongOwnHold } from '#conductor/flows/bmc/hold-power.ts';
import { awaitReset, ramdiskIsUp, resetMachine } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import { onRequest, requireOffered } from '#conductor/flows/driver-steps/driver-step.ts';
import { checksumPattern, describeWrongChecksum } from '#conductor/flows/driver-steps/fetch-firmware-image.ts';
import {
  type Done,
  noteFirmwareDone,
  readDone,
  type Update,
  untilReset,
} from '#conductor/flows/driver-steps/firmware-done.ts';
import {
  areOthersShown,
  awaitChange,
  awaitProof,
  noteLost,
  unanswered,
  versionNow,
} from '#conductor/flows/driver-steps/firmware-shown.ts';
import { startUpdate } from '#conductor/flows/driver-steps/firmware-start.ts';
import { updateMs, waitingFor } from '#conductor/flows/driver-steps/firmware-time.ts';
import { runThenSettle, settlingLater } from '#conductor/flows/driver-steps/settle-left.ts';
import { markRefusals } from '#conductor/flows/log/changed-nothing.ts';
import {
  type ConductorStepOutcome,
  type DriverStep,
  type StepContext,
  stepArgs,
} from '#conductor/flows/step-context.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** How long an update may wait before the machine is reset for it, and reset again. */
const firstResetMs = 30_000;
const nextResetMs = 10 * 60_000;

export const UpdateArgs = z.strictObject({
  settings: z
    .array(
      z.strictObject({
        component: z
          .string()
          .min(1)
          .describe("bios, bmc, nic:ADAPTER, or the id of an item in the BMC's firmware inventory"),
        url: z
          .url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })
          .describe('Where the BMC, or with a checksum the conductor, fetches the image'),
        checksum: z
          .string()
          .regex(checksumPattern, { error: ({ input }) => describeWrongChecksum(input) })
          .optional()
          .describe('Of the image: the conductor fetches it, compares, and sends it to the BMC'),
        version: z
          .string()
          .trim()
          .min(1)
          .optional()
          .describe(
            'Version that the BMC has to show afterwards, in its words; without it, another than before where the BMC does not say how the update ended',
          ),
      }),
      { error: 'must be a list of {"component": …, "url": …}' },
    )
    .min(1)
    .refine((settings) => new Set(settings.map(({ component }) => component)).size === settings.length, {
      error: 'each component once',
    })
    .describe('The updates, in order: [{"component": …, "url": …}, …]'),
});

/** With `firmware_interface: redfish`; in Ironic's words (its `firmware.update`). */
export const firmwareUpdate: DriverStep = {
  ...onRequest,
  interface: 'firmware',
  interfaceName: 'redfish',
  step: 'update',
  description: 'Writes new firmware, one component after the other, then resets the machine once.',
  args: UpdateArgs,
  isOffered: (bmc) => bmc.firmware !== undefined,
  mustNotLosePower: () => updateMs,
  run: (context) => runThenSettle(context, goOn),
  resume: (context) => settlingLater(context, goOn),
};

async function goOn(context: StepContext): Promise<ConductorStepOutcome> {
  const { settings } = UpdateArgs.parse(stepArgs(context));
  const done = readDone(context);
  for (const [index, setting] of settings.entries()) {
    const begin = () => startUpdate(context, done, setting);
    const update = done.updates[index] ?? (await (index === 0 ? markRefusals(context, begin) : begin()));
    if ('kind' in update) return update;
    done.updates[index] = update;
    const waits = await endUpdate(context, done, update);
    if (waits) return waits;
  }
  const outcome = (await resetOnce(context, done)) ?? (await awaitReset(context));
  if (outcome.kind !== 'done') return outcome;
  return (await awaitStart(context, done)) ?? (await awaitProof(context, done, done.updates)) ?? finish(context, done);
}

/** Waits for the end of an update, and, if it is the BMC's own, for its new version; `undefined` = the wait is over. */
async function endUpdate(context: StepContext, done: Done, update: Update): Promise<ConductorStepOutcome | undefined> {
  if (!update.hasEnded) {
    const waits = await awaitEnd(context, done, update);
    if (waits) return waits;
    update.hasEnded = true;
    await noteFirmwareDone(context, done);
  }
  return update.component === 'bmc' ? awaitProof(context, done, [update]) : undefined;
}

/**
 * Resets the machine, once: where a conductor died after the machine was on again, the reset was done. `undefined` = there
 * is nothing to await.
 */
async function resetOnce(context: StepContext, done: Done): Promise<ConductorStepOutcome | undefined> {
  if (done.wasReset || untilReset(done).length === 0) return undefined;
  let outcome: ConductorStepOutcome | undefined;
  if (!done.isResetting || !(await hasBeenReset(context))) {
    // the machine may have been off for an update before
    await forgetReset(context, context.step.uuid);
    // it writes as it starts
    await prolongOwnHold(context, updateMs);
    done.isResetting = true;
    done.resetSince = context.clock.now().getTime();
    for (const update of untilReset(done)) update.lostSince = null;
    await noteFirmwareDone(context, done);
    outcome = await resetMachine(context, () => Promise.resolve({ kind: 'done' }));
  }
  done.wasReset = true;
  await noteFirmwareDone(context, done);
  return outcome?.kind === 'done' ? undefined : outcome;
}

/**
 * Waits for the start of a machine after an update. Many machines write new firmware as they start, and have done so when a
 * ramdisk comes back. Without one, the versions show it, of all updates side by side; where they don't change, it is given
 * time. `undefined` = it is over.
 */
async function awaitStart(context: StepContext, done: Done): Promise<ConductorStepOutcome | undefined> {
  if (!done.wasReset || (await ramdiskIsUp(context))) return undefined;
  const updates = untilReset(done);
  if (updates.length === 0) return undefined;
  const about = `the machine to start with the new ${updates.map(({ component }) => component).join(', ')}`;
  return awaitChange(context, { done, updates, about, isOver: 'the machine has been reset' });
}

/** Waits until an update's task says that it has ended, or else its version shows it; `undefined` = the wait is over. */
async function awaitEnd(context: StepContext, done: Done, update: Update): Promise<ConductorStepOutcome | undefined> {
  if (update.task === null) return awaitVersion(context, done, update);
  const about = `the BMC to update ${update.component}`;
  let progress: TaskProgress;
  try {
    progress = await requireOffered(context, (bmc) => bmc.firmware).getUpdateProgress(update.task, {
      signal: context.signal,
    });
  } catch (error) {
    const change = { done, updates: [update], about };
    // a place that has never told a task's state may be no task's
    if (!update.hasWord && (await areOthersShown(context, change))) return undefined;
    // a BMC that restarts answers anything, or nothing: only the task's own word ends the update
    return unanswered(context, change, error);
  }
  if (progress.state === 'unclear') {
    if (!update.hasWord) return awaitVersion(context, done, update);
    const error = new AppError('unavailable', `what it answers of ${update.task} has no state of a task in it`);
    return unanswered(context, { done, updates: [update], about }, error);
  }
  if (progress.state !== 'lost') await noteWord(context, done, update);
  if (progress.state === 'failed') throw new AppError('bmc_error', `update ${update.component}: ${progress.why}`);
  if (progress.state === 'pending') return resetForUpdate(context, done, update);
  if (progress.state === 'lost') return awaitVersion(context, done, update);
  if (progress.state === 'done') {
    update.hasOwnEnd = true;
    return undefined;
  }
  return waitingFor(context, update.since, progress.percent === undefined ? about : `${about} (${progress.percent} %)`);
}

async function noteWord(context: StepContext, done: Done, update: Update): Promise<void> {
  const isNew = !update.hasWord;
  update.hasWord = true;
  await noteLost(context, done, [update], null);
  if (isNew) await noteFirmwareDone(context, done);
}

/** Resets the machine for an update that does not begin in time: some BMCs write at the next reset, but do not say so. */
async function resetForUpdate(context: StepContext, done: Done, update: Update): Promise<ConductorStepOutcome> {
  const waits = waitingFor(context, update.since, `the BMC to begin the update of ${update.component}`);
  const now = context.clock.now().getTime();
  const since = update.pendingSince ?? now;
  const isDue = now - since >= (update.resets === 0 ? firstResetMs : nextResetMs);
  if (isDue || update.pendingSince === null) {
    update.pendingSince = isDue ? now : since;
    update.resets += isDue ? 1 : 0;
    await noteFirmwareDone(context, done);
  }
  return isDue ? resetMachine(context, () => Promise.resolve(waits)) : waits;
}

/**
 * Waits for the version of an update whose task shows no end: a BMC that has restarted knows no task, and some name none.
 * Its versions have to show what came of it, which they may do minutes after it answers again.
 */
async function awaitVersion(
  context: StepContext,
  done: Done,
  update: Update,
): Promise<ConductorStepOutcome | undefined> {
  const lacks = update.task === null ? 'names no task for' : 'has forgotten';
  const about = `the BMC, which ${lacks} the update of ${update.component}, to show its version`;
  return awaitChange(context, { done, updates: [update], about, isOver: `the BMC ${lacks} the firmware update` });
}

async function finish(context: StepContext, { updates }: Done): Promise<ConductorStepOutcome> {
  const found = await readFirmware(context);
  const shown = new Map(found?.components.map(({ component, version }) => [component, version]));
  const output = {
    firmware: updates.map((each) => {
      const { component, before } = each;
      return { component, before, after: versionNow(each, shown) ?? null };
    }),
  };
  if (!found) return { kind: 'done', output };
  const flashed = updates.map(({ component }) => component);
  return {
    kind: 'done',
    output,
    record: async (tx) => {
      await rememberFirmware(tx, context.node.uuid, found, { now: context.clock.now(), flashed });
      return {};
    },
  };
}
