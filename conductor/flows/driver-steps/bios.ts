import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { BiosProgress } from '#conductor/drivers/interfaces.ts';
import { rememberInBandSettings } from '#conductor/flows/bmc/bios-store.ts';
import { describeOpen, lookAtNotedTask, notedTask, noteTask } from '#conductor/flows/bmc/bios-task.ts';
import { hasCalledIn, ramdiskIsUp, resetMachine } from '#conductor/flows/conductor-steps/power-into-ramdisk.ts';
import { runAgentStep } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import {
  ApplyArgs,
  finishSettings,
  resumeApply,
  runApply,
  staleMs,
  waiting,
  wantedSettings,
} from '#conductor/flows/driver-steps/apply-settings.ts';
import { onRequest, requireOffered } from '#conductor/flows/driver-steps/driver-step.ts';
import { runThenSettle, settlingLater } from '#conductor/flows/driver-steps/settle-left.ts';
import { addToOutput } from '#conductor/flows/log/flow-store.ts';
import type { ConductorStepOutcome, DriverStep, StepContext } from '#conductor/flows/step-context.ts';
import { inBandPrefix } from '#shared/bios/bios-setting.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

const offered = {
  ...onRequest,
  interface: 'bios',
  isOffered: (bmc) => bmc.bios !== undefined,
  mustNotLosePower: ({ config }) => config.callbackTimeoutMs,
} as const satisfies Partial<DriverStep>;

export const biosApplyConfiguration: DriverStep = {
  ...offered,
  step: 'apply_configuration',
  description: 'Changes BIOS settings and resets the machine until the BMC shows them.',
  args: ApplyArgs,
  run: (context) => byBmcOrAgent(context, (own) => runThenSettle(own, runApply), runAgentStep.run),
  resume: (context) => byBmcOrAgent(context, (own) => settlingLater(own, resumeApply), runAgentStep.resume),
};

export const biosFactoryReset: DriverStep = {
  ...offered,
  step: 'factory_reset',
  description: 'Resets all BIOS settings, and the machine.',
  args: z.strictObject({}),
  run: (context) => byBmcOrAgent(context, runReset, runAgentStep.run),
  resume: (context) => byBmcOrAgent(context, (own) => resumeReset(own), runAgentStep.resume),
};

type Act = (context: StepContext) => Promise<ConductorStepOutcome>;

/**
 * The driver's step hides the agent's of the same name, but some BMCs have no BIOS settings, and `efi.…` are settings
 * that only the agent has: there it is the agent that acts. The same answer at each run and resume, so that a crash
 * between them changes nothing.
 */
async function byBmcOrAgent(context: StepContext, byBmc: Act, byAgent: Act | undefined): Promise<ConductorStepOutcome> {
  const why = agentsOwn(context) ?? ((await hasSettings(context)) ? undefined : 'the BMC has no BIOS settings');
  if (why === undefined) return byBmc(context);
  if (!byAgent || !(await ramdiskIsUp(context))) {
    throw new AppError('not_supported', `${why}, and no agent runs now: give the step a place where one does`);
  }
  await context.keepPower();
  const outcome = await byAgent(context);
  // the cache is the BMC's where it has settings
  if ('output' in outcome && !agentsOwn(context)) {
    const { output } = outcome;
    const ended = { nodeUuid: context.node.uuid, output, now: context.clock.now() };
    await context.record((tx) => rememberInBandSettings(tx, ended));
  }
  return outcome;
}

/** @throws AppError `invalid_argument` for a step that is for both. */
function agentsOwn(context: StepContext): string | undefined {
  if (context.step.step !== biosApplyConfiguration.step) return undefined;
  const wanted = wantedSettings(context);
  const own = wanted.filter(({ name }) => name.startsWith(inBandPrefix));
  if (own.length === 0) return undefined;
  const names = own.map(({ name }) => name).join(', ');
  if (own.length === wanted.length) return `${names} can only be set by the agent`;
  throw new AppError('invalid_argument', `${names} can only be set by the agent: put them into a step without others`);
}

async function hasSettings(context: StepContext): Promise<boolean> {
  try {
    await requireOffered(context, (bmc) => bmc.bios).getProgress({ signal: context.signal });
    return true;
  } catch (error) {
    if (errorCode(error) === 'not_supported') return false;
    throw error;
  }
}

/**
 * Facts that are kept with the step. A BMC that has shown settings, and shows none later, says nothing then of the defaults,
 * either. Where it says nothing of their reset itself, settings that differ from those of before show it.
 */
const Noted = z.looseObject({
  has_settings: z.boolean().default(false),
  /** Digest of the settings as they were before the reset was asked for. */
  settings_before: z.string().optional(),
  /** The `isClear` of `BiosReset`; absent where an older release has asked. */
  is_clear: z.boolean().default(true),
});
type Noted = z.infer<typeof Noted>;

async function runReset(context: StepContext): Promise<ConductorStepOutcome> {
  const bios = requireOffered(context, (bmc) => bmc.bios);
  const known = Noted.safeParse(context.step.output).data;
  const { values } = await bios.getProgress({ signal: context.signal });
  // those that an earlier try has noted are those of before
  const before = known?.settings_before ?? (values.size > 0 ? digestOf(values) : undefined);
  const noted = {
    has_settings: values.size > 0 || known?.has_settings === true,
    ...(before && { settings_before: before }),
  };
  const note = (more: Partial<Noted>) =>
    context.record((tx) => addToOutput(tx, context.step.uuid, { ...noted, ...more }));
  await note({});
  const { task, isClear } = await bios.factoryReset({ signal: context.signal });
  await noteTask(context, context.step, task);
  if (!isClear) await note({ is_clear: false });
  return resetMachine(context, (after) => resumeReset(after, task, { ...noted, is_clear: isClear }));
}

/** @throws AppError `bmc_error` where the BMC's task of it has failed */
async function resumeReset(
  context: StepContext,
  task = notedTask(context),
  noted = Noted.safeParse(context.step.output).data,
): Promise<ConductorStepOutcome> {
  const end = await lookAtNotedTask(context, task);
  if (end.state === 'failed') throw new AppError('bmc_error', `the BIOS settings were not reset: ${end.why}`);
  if (end.state === 'open') return waiting(context, describeOpen('the reset of the BIOS settings', end));
  const bios = requireOffered(context, (bmc) => bmc.bios);
  const { defaultsPending, values, isShown } = await bios.getProgress({ signal: context.signal });
  if (!isShown || (noted?.has_settings && values.size === 0)) {
    return waiting(context, 'the BMC to show its BIOS settings again');
  }
  if (defaultsPending) return waiting(context, 'the firmware to go back to its default settings');
  const isSaid = end.state === 'over' && noted?.is_clear !== false;
  const areOthers = noted?.settings_before !== undefined && digestOf(values) !== noted.settings_before;
  if (isSaid || areOthers) return finishSettings(context);
  const why = 'no task of the BMC tells whether they were reset';
  const hasBooted = (await ramdiskIsUp(context)) && hasCalledIn(context);
  return waiting(
    context,
    `the BMC to show other BIOS settings than before: ${why}`,
    // a machine that starts with other settings may take longer for that alone
    hasBooted ? staleMs : undefined,
  );
}

function digestOf(values: BiosProgress['values']): string {
  const sorted = [...values].sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex');
}
