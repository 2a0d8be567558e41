import { z } from 'zod';
import type { BiosProgress } from '#conductor/drivers/interfaces.ts';
import { laterReset, leaveReset } from '#conductor/flows/bmc/bios-left-resets.ts';
import {
  describeRequested,
  errorWithoutSecrets,
  isUnreadable,
  withoutSecrets,
} from '#conductor/flows/bmc/bios-requested-settings.ts';
import { applyAhead, settingsAhead } from '#conductor/flows/bmc/bios-settings-ahead.ts';
import {
  cacheBiosSettings,
  listBiosSettings,
  rememberBiosSettings,
  settingOfRow,
} from '#conductor/flows/bmc/bios-store.ts';
import { describeOpen, lookAtNotedTask, notedTask, noteTask } from '#conductor/flows/bmc/bios-task.ts';
import { hasBeenReset } from '#conductor/flows/bmc/hold-power.ts';
import {
  awaitReset,
  hasCalledIn,
  ramdiskIsUp,
  resetMachine,
} from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import { requireOffered } from '#conductor/flows/driver-steps/driver-step.ts';
import { markRefusals } from '#conductor/flows/log/changed-nothing.ts';
import { addToOutput } from '#conductor/flows/log/flow-store.ts';
import { type ConductorStepOutcome, type StepContext, stepArgs } from '#conductor/flows/step-context.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { type BiosSetting, BiosSettingsArgument, type WantedBiosSetting } from '#shared/bios/bios-setting.ts';
import { checkSettings, type DoubtfulSetting, hasValue, listDoubtful } from '#shared/bios/check-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Interval of looking whether `bios.apply_configuration` is done by the BMC. */

const pollMs = 5_000;
/** How long a BMC may show old values after the machine has booted: some read them from the firmware at intervals. */
export const staleMs = 5 * 60_000;

export const ApplyArgs = z.strictObject({ settings: BiosSettingsArgument });

/**
 * Kept with the step: its settings were asked for with those of the next steps, or before another step's reset, are lost
 * with them, or are requested by themselves, which is the last try.
 */
const Along = z.object({ asked: z.enum(['along', 'lost', 'alone']) });
type Asked = z.infer<typeof Along>['asked'];

export async function runApply(context: StepContext): Promise<ConductorStepOutcome> {
  const bios = requireOffered(context, (bmc) => bmc.bios);
  const { signal } = context;
  const settings = await bios.getSettings({ signal });
  await rememberBiosSettings(context, settings);
  const wanted = wantedSettings(context);
  requireShown(settings, wanted);
  await markRefusals(context, () => checkSettings(settings, wanted, 'registry'));
  const byName = new Map(settings.map((setting) => [setting.name, setting]));
  const different = wanted.filter(({ name, value }) => !hasValue(byName.get(name), value));
  // an earlier try of this step may have done it all, with the machine still on its way back
  if (different.length === 0) return endShown(context);
  if (!context.isRepeated) await noteAdvice(context, listDoubtful(settings, different));
  const before = askedBefore(context);
  const ahead = before === 'lost' || before === 'alone' ? [] : await settingsAhead(context, settings, wanted);
  let task: string | undefined;
  const apply = async (some: readonly WantedBiosSetting[]): Promise<void> => {
    task = await bios.applySettings(some, { signal });
  };
  if (ahead.length > 0) await noteAsked(context, 'along');
  const isAlong = ahead.length > 0 && (await applyAhead(context, () => apply([...different, ...ahead])));
  if (!isAlong) {
    if (ahead.length > 0 || before !== undefined) await noteAsked(context, 'alone');
    try {
      await apply(different);
    } catch (error) {
      throw errorWithoutSecrets(error, wanted, byName);
    }
  }
  await noteTask(context, context.step, task);
  const { missing } = await compare(context);
  // of what can't be read it is not known whether it waits for a reset
  const isBlind = different.some(({ name }) => isUnreadable(byName.get(name)));
  const asked = isAlong ? 'along' : 'alone';
  if (!isBlind && missing.length === 0 && !(await isPending(context, task))) return resumeApply(context, asked, task);
  const later = isBlind || before !== undefined ? undefined : await laterReset(context);
  if (later !== undefined) return leaveReset(later, task);
  return resetMachine(context, () => resumeApply(context, asked, task));
}

/** Ends the step, or waits for the end of its task, where the BMC shows the values already. */
async function endShown(context: StepContext): Promise<ConductorStepOutcome> {
  const task = notedTask(context);
  if (task === undefined) return finishSettings(context);
  // a conductor may have died before the reset that the task waits for
  const needsReset = context.isRepeated && (await isPending(context, task)) && !(await hasBeenReset(context));
  return needsReset ? resetMachine(context, () => resumeApply(context)) : resumeApply(context);
}

async function isPending(context: StepContext, task: string | undefined): Promise<boolean> {
  const end = await lookAtNotedTask(context, task);
  return end.state === 'open' && end.isPending;
}

/** @throws AppError `bmc_error`: where a BMC shows no values, none of them would ever be seen to hold */
function requireShown(settings: readonly BiosSetting[], wanted: readonly WantedBiosSetting[]): void {
  if (settings.length > 0) return;
  const names = wanted.map(({ name }) => name).join(', ');
  throw new AppError(
    'bmc_error',
    `the BMC shows no BIOS attributes, and nothing would tell whether ${names} hold: many know them once the machine has started up; power it on and try again`,
  );
}

/** The BMC decides. */
async function noteAdvice(context: StepContext, settings: readonly DoubtfulSetting[]): Promise<void> {
  if (settings.length === 0) return;
  const advice = settings.map((each) => `${each.name}: ${each.advice}`).join('; ');
  const event = `BIOS settings are asked for against the advice of the BMC's registry: ${advice}`;
  context.log.warn(
    { settings: settings.map(({ name }) => name) },
    "asking for BIOS settings against the registry's advice",
  );
  const { node, config, flow } = context;
  const entry = { nodeUuid: node.uuid, eventType: 'provisioning', event, ...requestIdsOf(flow) };
  await context.record((tx) => addHistory(tx, { ...entry, conductor: config.conductorName }));
}

export async function resumeApply(
  context: StepContext,
  asked = askedBefore(context),
  task = notedTask(context),
): Promise<ConductorStepOutcome> {
  // before the values: those of a task that has ended are the last ones
  const end = await lookAtNotedTask(context, task);
  const { missing, progress, describe, hide } = await compare(context);
  if (end.state === 'failed')
    return giveUp(context, asked, { lost: describe(wantedSettings(context)), why: hide(end.why) });
  if (end.state === 'open') {
    const about = `the BIOS settings${missing.length === 0 ? ', which it shows already' : ` ${describe(missing)}`}`;
    return waiting(context, describeOpen(about, end));
  }
  if (missing.length === 0) return finishSettings(context);
  const ramdisk = await ramdiskIsUp(context);
  const booted = !ramdisk || hasCalledIn(context);
  const pending = new Set(progress.pending.map(({ name }) => name));
  const lost = missing.filter(({ name }) => !pending.has(name));
  if (booted && lost.length > 0 && progress.failures.length > 0) {
    return giveUp(context, asked, { lost: describe(lost), why: hide(progress.failures.join(' ')) });
  }
  const late = ramdisk && booted && lost.length > 0;
  const reason = `the firmware to take the BIOS settings ${describe(missing)}${late ? ', though the machine has booted' : ''}`;
  return waiting(context, reason, late ? staleMs : undefined);
}

export function waiting(
  { config }: StepContext,
  reason: string,
  timeoutMs = config.callbackTimeoutMs,
): ConductorStepOutcome {
  return { kind: 'wait', code: 'bmc_task', reason, timeoutMs, checkEveryMs: pollMs };
}

/**
 * Gives up what the firmware did not take, or asks for it alone where the failure may be that of another step's settings.
 * @throws AppError `bmc_error`
 */
function giveUp(
  context: StepContext,
  asked: Asked | undefined,
  { lost, why }: { readonly lost: string; readonly why: string },
): Promise<ConductorStepOutcome> {
  if (asked === 'along' || asked === 'lost') return askAlone(context, lost);
  throw new AppError('bmc_error', `the firmware did not take the BIOS settings ${lost}: ${why}`);
}

async function askAlone(context: StepContext, lost: string): Promise<ConductorStepOutcome> {
  await noteAsked(context, 'lost', { task: null });
  return {
    kind: 'again',
    code: 'bmc_task',
    reason: `a reset for the BIOS settings ${lost} alone: those of the next steps failed with them`,
    timeoutMs: context.config.callbackTimeoutMs,
    checkEveryMs: 1,
  };
}

function askedBefore({ step }: StepContext): Asked | undefined {
  return Along.safeParse(step.output).data?.asked;
}

function noteAsked(context: StepContext, asked: Asked, more: { readonly task?: null } = {}): Promise<void> {
  return context.record((tx) => addToOutput(tx, context.step.uuid, { asked, ...more }));
}

interface Comparison {
  readonly missing: readonly WantedBiosSetting[];
  readonly progress: BiosProgress;
  /** For operators, the log and the node's history. */
  readonly describe: (settings: readonly WantedBiosSetting[]) => string;
  readonly hide: (text: string) => string;
}

/** Compares settings with what is wanted. Those that can't be read are taken as soon as they are not known to wait. */
async function compare(context: StepContext): Promise<Comparison> {
  const progress = await requireOffered(context, (bmc) => bmc.bios).getProgress({ signal: context.signal });
  const rows = await context.ask(listBiosSettings(context.db, context.node.uuid));
  const known = new Map(rows.map((row) => [row.name, settingOfRow(row)]));
  const pending = new Set(progress.pending.map(({ name }) => name));
  const wanted = wantedSettings(context);
  const now = (name: string): BiosSetting | undefined => {
    const setting = known.get(name);
    return setting && { ...setting, value: progress.values.get(name) ?? null };
  };
  const missing = wanted.filter(({ name, value }) => {
    const isReported = progress.values.has(name);
    return isReported && isUnreadable(now(name)) ? pending.has(name) : !hasValue(now(name), value);
  });
  return {
    missing,
    progress,
    describe: (some) => describeRequested(some, now),
    hide: (text) => withoutSecrets(text, wanted, known),
  };
}

export async function finishSettings(context: StepContext): Promise<ConductorStepOutcome> {
  const outcome = await awaitReset(context);
  if (outcome.kind !== 'done') return outcome;
  await cacheBiosSettings(context);
  return { kind: 'done' };
}

export function wantedSettings(context: StepContext): readonly WantedBiosSetting[] {
  return ApplyArgs.parse(stepArgs(context)).settings;
}
