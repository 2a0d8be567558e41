import { hasLeft, type LeftStep, laterReset, listLeft, noteLeft } from '#conductor/flows/bmc/bios-left-resets.ts';
import { resetMachine } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import { resumeApply, runApply } from '#conductor/flows/driver-steps/apply-settings.ts';
import type { ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { errorCode } from '#shared/errors/app-error.ts';

type Act = (context: StepContext) => Promise<ConductorStepOutcome>;

/**
 * Codes of what a step finds missing that the settings of steps before it may bring, and of what a BMC says that takes
 * one change only.
 */
const mayNeedReset: ReadonlySet<string> = new Set(['not_supported', 'invalid_argument', 'storage_error']);

/**
 * Runs a step that resets the machine, and ends it once the BIOS settings hold whose reset was left to it. What it can't do
 * yet it does after their reset.
 */
export async function runThenSettle(context: StepContext, act: Act): Promise<ConductorStepOutcome> {
  const waits = (await isFirst(context)) ? await settleLeft(context) : undefined;
  if (waits) return waits;
  let outcome: ConductorStepOutcome;
  try {
    outcome = await act(context);
  } catch (error) {
    const left = (await listLeft(context)).filter(({ note }) => note.asked === 'left');
    const isBios = context.step.interface === 'bios';
    const mayHelp = mayNeedReset.has(errorCode(error)) || (isBios && errorCode(error) === 'bmc_error');
    if (context.signal.aborted || !mayHelp || left.length === 0) throw error;
    context.log.info({ code: errorCode(error) }, 'the BIOS settings of the steps before get their reset first');
    for (const each of left) await noteLeft(context, each, { first_of: context.step.uuid });
    return (await settleLeft(context)) ?? again(context);
  }
  return settled(context, outcome);
}

/** The same for what a step does when it is asked whether what it waits for has come. */
export async function settlingLater(context: StepContext, act: Act): Promise<ConductorStepOutcome> {
  if (await isFirst(context)) return (await settleLeft(context)) ?? again(context);
  return settled(context, await act(context));
}

/** Returns whether settings of steps before it get their reset first. */
async function isFirst(context: StepContext): Promise<boolean> {
  return (await listLeft(context)).some(({ note }) => note.first_of === context.step.uuid);
}

async function settled(context: StepContext, outcome: ConductorStepOutcome): Promise<ConductorStepOutcome> {
  if (outcome.kind !== 'done' || hasLeft(outcome.output)) return outcome;
  // where another reset is to come, they are left to that
  const isLast = (await laterReset(context)) === undefined;
  return (await settleLeft(context, (asked) => isLast || asked !== 'left')) ?? outcome;
}

/**
 * Settles the settings that were left; `undefined` = they hold; else the outcome that waits for them.
 * @throws AppError `bmc_error` where the firmware does not take them
 */
async function settleLeft(
  context: StepContext,
  which: (asked: LeftStep['note']['asked']) => boolean = () => true,
): Promise<ConductorStepOutcome | undefined> {
  for (const each of await listLeft(context)) {
    const { asked } = each.note;
    if (asked === 'held' || !which(asked)) continue;
    const own = { ...context, step: each.row };
    const outcome =
      asked === 'left'
        ? await resetMachine(context, async (after) => (await settleLeft(after)) ?? { kind: 'done' })
        : await (asked === 'lost' ? runApply(own) : resumeApply(own, asked));
    if (outcome.kind !== 'done') return outcome;
    await noteLeft(context, each, { asked: 'held' });
  }
  return undefined;
}

function again({ config }: StepContext): ConductorStepOutcome {
  return {
    kind: 'again',
    code: 'bmc_task',
    reason: 'another try, now that the BIOS settings of the steps before hold',
    timeoutMs: config.callbackTimeoutMs,
    checkEveryMs: 1,
  };
}
