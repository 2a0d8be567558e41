import { isQuiet } from '#conductor/flows/bmc/bios-left-resets.ts';
import { isUnreadable, requestedSettings } from '#conductor/flows/bmc/bios-requested-settings.ts';
import { readBiosSettings } from '#conductor/flows/bmc/bios-store.ts';
import { noteTask } from '#conductor/flows/bmc/bios-task.ts';
import { stepsOf } from '#conductor/flows/log/flow-store.ts';
import { type StepContext, stepArgs } from '#conductor/flows/step-context.ts';
import type { FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import { type BiosSetting, inBandPrefix, type WantedBiosSetting } from '#shared/bios/bios-setting.ts';
import { checkSettings, hasValue } from '#shared/bios/check-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * One reset serves several steps: a step that resets the machine has the BMC take the BIOS settings of the steps right
 * after it, too. Each of those looks for itself afterwards what became of them, and asks again for what is missing, as the
 * step itself does; so what goes wrong here costs one more reset. Nothing but BIOS settings is asked for ahead of
 * its step: they destroy nothing.
 */

/**
 * Finds the settings that the BIOS steps right after this one want beyond `own`, up to the first of which that is not
 * clear.
 */
export async function settingsAhead(
  context: StepContext,
  known: readonly BiosSetting[],
  own: readonly WantedBiosSetting[] = [],
): Promise<readonly WantedBiosSetting[]> {
  if (context.flow.abortRequested !== null) return [];
  const byName = new Map(known.map((setting) => [setting.name, setting]));
  const taken = new Map(own.map(({ name, value }) => [name, value]));
  const ahead: WantedBiosSetting[] = [];
  for (const step of await stepsAhead(context)) {
    const wanted = requestedSettings(stepArgs({ ...context, step }));
    const isClear = wanted.every(
      ({ name, value }) =>
        !name.startsWith(inBandPrefix) && !isUnreadable(byName.get(name)) && (taken.get(name) ?? value) === value,
    );
    if (!isClear || !arePossible(known, wanted)) break;
    ahead.push(...wanted.filter(({ name, value }) => !taken.has(name) && !hasValue(byName.get(name), value)));
    for (const { name, value } of wanted) taken.set(name, value);
  }
  return ahead;
}

/** Asks for settings before another step's reset. */
export async function askAhead(context: StepContext): Promise<void> {
  const { bios } = context.bmc();
  const steps = await stepsAhead(context);
  if (!bios || steps.length === 0) return;
  const known = await readBiosSettings(context);
  const ahead = known ? await settingsAhead(context, known) : [];
  if (ahead.length === 0) return;
  await applyAhead(context, async () => {
    const task = await bios.applySettings(ahead, { signal: context.signal });
    for (const step of steps) await noteTask(context, step, task);
  });
}

/** Returns whether the BMC has taken them. */
export async function applyAhead(context: StepContext, apply: () => Promise<void>): Promise<boolean> {
  try {
    await apply();
    return true;
  } catch (error) {
    if (context.signal.aborted || !(error instanceof AppError)) throw error;
    // without its words, which may repeat what is secret
    context.log.info({ code: error.code }, 'BIOS settings of the next steps are left to their own reset');
    return false;
  }
}

async function stepsAhead(context: StepContext): Promise<readonly FlowStepRow[]> {
  const steps = await stepsOf(context);
  const next = steps
    .slice(steps.findIndex(({ uuid }) => uuid === context.step.uuid) + 1)
    .filter((each) => each.inBand || !isQuiet(each));
  const end = next.findIndex(
    (each) =>
      each.interface !== 'bios' || each.step !== 'apply_configuration' || each.inBand || each.state !== 'pending',
  );
  return end === -1 ? next : next.slice(0, end);
}

function arePossible(known: readonly BiosSetting[], wanted: readonly WantedBiosSetting[]): boolean {
  try {
    checkSettings(known, wanted, 'registry');
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_argument') return false;
    throw error;
  }
}
