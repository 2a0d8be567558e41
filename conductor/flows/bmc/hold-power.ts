import { z } from 'zod';
import { hasEnded } from '#conductor/agents/find-command.ts';
import { holdingPowerFirst, requirePowerFree } from '#conductor/drivers/with-held-power.ts';
import { addToOutput } from '#conductor/flows/log/flow-store.ts';
import type { ConductorStep, ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import type { PowerHold } from '#conductor/model/power-and-boot.ts';
import { lockNode, updateNode } from '#conductor/nodes/node-store.ts';
import { AppError, errorChain, errorCode, faultOf } from '#shared/errors/app-error.ts';
import type { CommandResult } from '#shared/wire/agent-calls.ts';

/** How often an agent is asked whether its step still runs, for which power is held. */
const askEveryMs = 15_000;

/**
 * Returns the step's context, with which it is recorded that the machine must not lose power before the step does what may
 * break it then: what follows a crash, an abort or a failure finds it. A step that is run again begins its time again.
 * @returns it, whether power is held for it by now, and whether this run has asked for a change that waits for a reset
 * @throws AppError `power_held` while it is held for another
 */
export async function holdingPower(
  context: StepContext,
  { mustNotLosePower }: Pick<ConductorStep, 'mustNotLosePower'>,
): Promise<{ readonly context: StepContext; readonly isHeld: () => boolean; readonly hasAsked: () => boolean }> {
  const { node, step, clock } = context;
  const wasHeld = node.powerHold?.step === step.uuid;
  let asked = false;
  const hasAsked = (): boolean => asked;
  if (!mustNotLosePower) return { context, isHeld: () => wasHeld, hasAsked };
  if (!wasHeld) requirePowerFree(node.powerHold, stepTitle(step), clock.now());
  let forMs: number | undefined;
  const isHeld = (): boolean => wasHeld || (forMs ?? 0) > 0;
  const keepPower = async (): Promise<void> => {
    if (forMs !== undefined) return;
    const ms = (await mustNotLosePower(context)) ?? 0;
    if (ms > 0) await recordHold(context, ms);
    forMs = ms;
  };
  const noteOff = async (): Promise<void> => {
    await keepPower();
    await (isHeld() ? noteOffOf(context) : context.noteOff());
  };
  if (step.inBand) await keepPower();
  const noteAsked = (): void => {
    asked = true;
  };
  return {
    context: { ...context, keepPower, noteOff, bmc: () => holdingPowerFirst(context.bmc(), keepPower, noteAsked) },
    isHeld,
    hasAsked,
  };
}

/** Records that the machine is off for the step's own reset, where power is held for the step. */
export async function noteOffOf(context: Pick<StepContext, 'node' | 'record' | 'step'>): Promise<void> {
  await changeOwnHold(context, context.step.uuid, (hold) => ({ ...hold, wasOff: true }));
}

function ownHold(step: StepContext['step']): Pick<PowerHold, 'step' | 'why'> {
  return { step: step.uuid, why: `${stepTitle(step)} may be under way` };
}

async function recordHold({ node, step, clock, record }: StepContext, forMs: number): Promise<void> {
  const powerHold: PowerHold = {
    ...ownHold(step),
    until: new Date(clock.now().getTime() + forMs).toISOString(),
    ...(step.inBand ? { afterWordMs: forMs } : {}),
  };
  await record((tx) => updateNode(tx, node.uuid, { powerHold }));
}

/**
 * Holds power for a step from now on, whether it is held for it by now or not: a resumed step may begin something, too, and a
 * person may have released the power meanwhile.
 * @throws AppError `power_held` while it is held for another
 */
export async function holdPowerAgain(context: StepContext, forMs: number): Promise<void> {
  const { node, step, clock, record } = context;
  const now = clock.now();
  await record(async (tx) => {
    const { powerHold: held } = await lockNode(tx, node.uuid);
    const own = held?.step === step.uuid ? held : undefined;
    if (!own) requirePowerFree(held, stepTitle(step), now);
    const untilMs = Math.max(now.getTime() + forMs, own ? Date.parse(own.until) : 0);
    const powerHold = { ...(own ?? ownHold(step)), until: new Date(untilMs).toISOString() };
    await updateNode(tx, node.uuid, { powerHold });
  });
}

/** Begins a step's time again, for the next of what it does one after the other. */
export async function prolongOwnHold(
  context: Pick<StepContext, 'node' | 'record' | 'step' | 'clock'>,
  forMs: number,
): Promise<void> {
  const untilMs = context.clock.now().getTime() + forMs;
  await changeOwnHold(context, context.step.uuid, (hold) => ({
    ...hold,
    until: new Date(Math.max(untilMs, Date.parse(hold.until))).toISOString(),
  }));
}

/** An agent that is heard to be at the step still begins the step's time again. */
export async function prolongHold(
  { node, clock, record }: Pick<StepContext, 'node' | 'clock' | 'record'>,
  stepUuid: string,
): Promise<void> {
  const hold = node.powerHold;
  if (hold?.step !== stepUuid || hold.afterWordMs === undefined) return;
  const untilMs = clock.now().getTime() + hold.afterWordMs;
  // not at each look: every one would be a write
  if (untilMs - Date.parse(hold.until) < hold.afterWordMs / 8) return;
  await changeOwnHold({ node, record }, stepUuid, (own) => ({ ...own, until: new Date(untilMs).toISOString() }));
}

const WasOff = z.looseObject({ was_off: z.literal(true) });

/** Records in the step's output, where no power is held for it, that the machine is off for the step's own reset. */
export async function noteOffOfStep({ step, record }: Pick<StepContext, 'step' | 'record'>): Promise<void> {
  await record((tx) => addToOutput(tx, step.uuid, { was_off: true } satisfies z.input<typeof WasOff>));
}

/**
 * Returns whether the machine is on again after the reset of a step whose conductor died then, or did not hear of it: what
 * the step waits for has begun, and one more reset would be amid it.
 */
export async function hasBeenReset({ node, step, bmc, signal }: StepContext): Promise<boolean> {
  const { powerHold } = node;
  const wasOff = powerHold?.step === step.uuid ? powerHold.wasOff : WasOff.safeParse(step.output).success;
  if (!wasOff) return false;
  const power = await bmc().power.getPowerState({ signal });
  if (power) return power === 'power on';
  throw new AppError(
    'unavailable',
    'the BMC does not say whether the machine is on again after the reset of this step',
  );
}

/** Forgets a reset, so that another of the same step may follow. */
export async function forgetReset(context: Pick<StepContext, 'node' | 'record'>, stepUuid: string): Promise<void> {
  await changeOwnHold(context, stepUuid, (hold) => ({ ...hold, wasOff: false }));
}

/** Ends what a step holds: before its end is recorded, so that no step after it waits for one that is over. */
export async function freePower(context: Pick<StepContext, 'node' | 'record'>, stepUuid: string): Promise<void> {
  await changeOwnHold(context, stepUuid, () => null);
}

async function changeOwnHold(
  { node, record }: Pick<StepContext, 'node' | 'record'>,
  stepUuid: string,
  change: (hold: PowerHold) => PowerHold | null,
): Promise<void> {
  await record(async (tx) => {
    const { powerHold } = await lockNode(tx, node.uuid);
    if (powerHold?.step === stepUuid) await updateNode(tx, node.uuid, { powerHold: change(powerHold) });
  });
}

/**
 * Returns whether a step that fails with this has said itself that nothing is under way any more. A web server that fails
 * amid its answer may have begun what it was asked for; BIOS settings that it may have taken wait for a reset.
 */
export function saysItIsOver(error: unknown, step: { readonly interface: string }): boolean {
  // of a fault in a program it isn't known
  if (errorCode(error) === 'internal') return false;
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { mayBeUnderWay, status } = cause instanceof AppError ? cause.details : {};
    // nor does a status of success with an error alone
    const isUnclear = typeof status === 'number' && (status >= 500 || status < 300);
    if (mayBeUnderWay === true || (step.interface !== 'bios' && isUnclear)) return false;
  }
  return true;
}

/**
 * Returns whether a BMC's web server has answered with an error, or with what is no answer: of what it was asked about
 * before that says nothing.
 */
export function isHttpAnswer(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { status, isNoAnswer } = cause instanceof AppError ? cause.details : {};
    if (typeof status === 'number' || isNoAnswer === true) return true;
  }
  return false;
}

const judgements: ReadonlySet<string> = new Set(['invalid_argument', 'conflict', 'storage_error', 'not_supported']);

/**
 * Returns whether a step fails by what the BMC answers or shows at this moment, amid what it may have been asked for before:
 * it may show no controllers while it starts, and refuse what it is at. What its task says is another thing.
 */
export function judgesByWhatIsShown(error: unknown): boolean {
  return isHttpAnswer(error) || judgements.has(errorCode(error));
}

/** A step that may not switch power yet waits until it may: its agent, where it has one, is asked whether it may now. */
export async function untilPowerIsFree(context: StepContext, error: unknown): Promise<ConductorStepOutcome> {
  const { node, clock, config } = context;
  const hold = node.powerHold;
  const restMs = Math.max(0, (hold ? Date.parse(hold.until) : 0) - clock.now().getTime());
  const isOver = hold !== null && hold.afterWordMs !== undefined && (await agentSaysItIsOver(context, hold));
  return {
    kind: 'again',
    reason: errorChain(error),
    ...faultOf(error),
    timeoutMs: restMs + config.retryTimeoutMs,
    checkEveryMs: isOver ? 0 : Math.min(restMs + 1, hold?.afterWordMs === undefined ? 60_000 : askEveryMs),
  };
}

async function agentSaysItIsOver(context: StepContext, hold: PowerHold): Promise<boolean> {
  let commands: readonly CommandResult[];
  try {
    commands = await context.agent().list();
  } catch (error) {
    if (context.signal.aborted) throw error;
    context.log.info({ err: error }, 'the agent does not say whether its step still runs: power stays as it is');
    return false;
  }
  const isOver = hasEnded(commands, hold.step);
  if (isOver) await freePower(context, hold.step);
  else if (commands.length > 0) await prolongHold(context, hold.step);
  return isOver;
}
