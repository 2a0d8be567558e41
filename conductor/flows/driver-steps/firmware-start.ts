import type { BeforeUpdate, FoundUpdate } from '#conductor/drivers/interfaces.ts';
import {
  freePower,
  holdPowerAgain,
  isHttpAnswer,
  prolongOwnHold,
  saysItIsOver,
} from '#conductor/flows/bmc/hold-power.ts';
import { requireOffered } from '#conductor/flows/driver-steps/driver-step.ts';
import { withFirmwareImage } from '#conductor/flows/driver-steps/fetch-firmware-image.ts';
import { type Asked, type Done, noteFirmwareDone, type Update } from '#conductor/flows/driver-steps/firmware-done.ts';
import { updateMs, waitingFor } from '#conductor/flows/driver-steps/firmware-time.ts';
import type { ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { AppError, errorChain, errorCode, faultOf, isRetryable } from '#shared/errors/app-error.ts';
import { checkOutboundUrl } from '#shared/peers/outbound-url.ts';

/**
 * Asks the BMC for an update. Before the request that may begin it, whatever fails is tried again for the retry timeout;
 * after a request whose answer is lost, the update's own time rules: its task or another version shows that it has begun,
 * else it is asked for again, ever more rarely. Its hour counts from the request that the BMC has taken, and power is held
 * for an hour from each.
 */

interface Setting {
  readonly component: string;
  readonly url: string;
  readonly checksum?: string | undefined;
}

export async function startUpdate(
  context: StepContext,
  done: Done,
  setting: Setting,
): Promise<Update | ConductorStepOutcome> {
  checkOutboundUrl(`firmware.update: settings: ${setting.component}`, setting.url, context.config.outbound.images);
  const asked = askedFor(done, setting.component);
  const found = asked && (await findBegun(context, done, asked));
  if (found) return found;
  let started: { readonly before: string | null; readonly task: string | undefined };
  try {
    started = await ask(context, done, setting);
  } catch (error) {
    return orLater(context, done, { component: setting.component, asked }, error);
  }
  const task = started.task ?? (await findListed(context, done));
  return begun(context, done, { component: setting.component, task: task ?? null, before: started.before });
}

/** Looks once for the task of an update whose acceptance named none: versions show only that an update has ended. */
async function findListed(context: StepContext, { asked }: Done): Promise<string | undefined> {
  if (!asked) return undefined;
  try {
    const firmware = requireOffered(context, (bmc) => bmc.firmware);
    const found = await firmware.findUpdate(asked.component, asked.before, { signal: context.signal });
    return found.state === 'task' ? found.task : undefined;
  } catch (error) {
    if (!isOfBmc(context, error)) throw error;
    context.log.info({ err: error }, 'the BMC does not show now what came of the update');
    return undefined;
  }
}

/** @returns `undefined` = nothing shows that it has begun, and it is to be asked for now */
async function findBegun(
  context: StepContext,
  done: Done,
  asked: Asked,
): Promise<Update | ConductorStepOutcome | undefined> {
  const { component, before } = asked;
  const about = `the BMC to show whether it has begun the update of ${component}`;
  let found: FoundUpdate;
  try {
    const firmware = requireOffered(context, (bmc) => bmc.firmware);
    found = await firmware.findUpdate(component, before, { signal: context.signal });
  } catch (error) {
    if (!isOfBmc(context, error)) throw error;
    return waitingFor(context, lastOf(asked), `${about}, which does not answer now: ${errorChain(error)}`);
  }
  if (found.state === 'nothing') return untilAskedAgain(context, done, asked, found);
  if (found.state === 'at work') return waitingFor(context, lastOf(asked), about);
  const task = found.state === 'task' ? found.task : null;
  return begun(context, done, { component, task, before: before.version });
}

async function begun(
  context: StepContext,
  done: Done,
  update: Pick<Update, 'component' | 'task' | 'before'>,
): Promise<Update> {
  const since = context.clock.now().getTime();
  await prolongOwnHold(context, updateMs);
  const whole: Update = {
    ...update,
    hasEnded: false,
    hasOwnEnd: false,
    hasWord: false,
    pendingSince: null,
    lostSince: null,
    resets: 0,
    since,
  };
  await noteFirmwareDone(context, { ...done, updates: [...done.updates, whole] });
  return whole;
}

function ask(context: StepContext, done: Done, { component, url, checksum }: Setting) {
  const rules = context.config.outbound.images;
  return requireOffered(context, (bmc) => bmc.firmware).startUpdate(
    { component, url, mustPush: checksum !== undefined },
    (use, limit) => withFirmwareImage({ url, checksum, rules, signal: limit }, use),
    {
      signal: context.signal,
      beforeAsking: (before) => noteAsking(context, done, { component, before }),
    },
  );
}

function askedFor({ asked }: Done, component: string): Asked | undefined {
  return asked?.component === component ? asked : undefined;
}

/** Holds power, and notes what the BMC showed before the first request. */
async function noteAsking(
  context: StepContext,
  done: Done,
  { component, before }: { readonly component: string; readonly before: BeforeUpdate },
): Promise<void> {
  await holdPowerAgain(context, updateMs);
  const lastAt = context.clock.now().getTime();
  const first = { component, before, since: lastAt, tries: 0 };
  const asked = askedFor(done, component) ?? first;
  done.asked = { ...asked, lastAt, tries: asked.tries + 1, failure: null };
  done.begun = component;
  await noteFirmwareDone(context, done);
}

/** @param asked what was asked for before this time: by a conductor that died, or whose answer was lost */
async function orLater(
  context: StepContext,
  done: Done,
  { component, asked }: { readonly component: string; readonly asked: Asked | undefined },
  error: unknown,
): Promise<ConductorStepOutcome> {
  if (!isOfBmc(context, error)) throw error;
  const reason = `the BMC to accept the update of ${component}: ${errorChain(error)}`;
  const now = askedFor(done, component);
  if (now && (asked !== undefined || isUnclear(error))) {
    // what fails before the request is sent is no answer to it
    if (now === asked) return waitingFor(context, lastOf(asked), reason);
    return waitingForAnswer(context, await noteFailure(context, done, now, error));
  }
  // an older release has noted less before it died
  const mayBeAtIt = !now && done.begun === component && context.isRepeated;
  if (mayBeAtIt) return { kind: 'again', reason, ...faultOf(error), timeoutMs: updateMs, checkEveryMs: retryEveryMs };
  if (now) await takeBack(context, done);
  const isPassing = isRetryable(error) || !saysItIsOver(error, context.step) || done.updates.length > 0;
  if (!isPassing) throw error;
  const timeoutMs = context.config.retryTimeoutMs;
  return { kind: 'again', reason, ...faultOf(error), timeoutMs, checkEveryMs: Math.min(retryEveryMs, timeoutMs / 4) };
}

/** Milliseconds between requests for one update at first; each time twice as many, and at most so many. */
const retryEveryMs = 5_000;
const rarestRetryMs = 5 * 60_000;
/** Time in which a BMC that lists its tasks may take up an update before its failures are believed. */
const unlistedMs = 5 * 60_000;
/** Interval of looks for what may have begun, at most. */
const lookEveryMs = 30_000;

function lastOf({ since, lastAt }: Asked): number {
  return lastAt ?? since;
}

/**
 * Judges what nothing shows: `undefined` = it is to be asked for again.
 * @throws AppError `bmc_error` with the BMC's own words, where it has shown for minutes that nothing has begun
 */
function untilAskedAgain(
  context: StepContext,
  { updates }: Done,
  asked: Asked,
  { isShown }: { readonly isShown: boolean },
): ConductorStepOutcome | undefined {
  const { component, since, tries, failure } = asked;
  const now = context.clock.now().getTime();
  const isDue = now >= nextAskMs(context, asked);
  const isLate = now - since >= Math.max(unlistedMs, context.config.retryTimeoutMs);
  if (isDue && isLate && isShown && failure?.byBmc) {
    const message = `the BMC has not begun the update of ${component}, for which it was asked ${tries} times: ${failure.words}`;
    // updates before this one may wait for the reset that follows all
    throw new AppError('bmc_error', message, { details: updates.length > 0 ? { mayBeUnderWay: true } : {} });
  }
  return isDue && now - since < updateMs ? undefined : waitingForAnswer(context, asked);
}

/** Gives the time at which it may be asked for again: an image is sent each time, and what refuses it now will later. */
function nextAskMs({ config }: StepContext, asked: Asked): number {
  const firstMs = Math.min(retryEveryMs, config.retryTimeoutMs / 4);
  return lastOf(asked) + Math.min(rarestRetryMs, firstMs * 2 ** (asked.tries - 1));
}

function waitingForAnswer(context: StepContext, asked: Asked): ConductorStepOutcome {
  const { component, tries, failure } = asked;
  const words = failure ? `: ${failure.words}` : '';
  const reason = `the BMC to accept the update of ${component}${words} (asked ${tries} ${tries === 1 ? 'time' : 'times'})`;
  const restMs = nextAskMs(context, asked) - context.clock.now().getTime();
  return waitingFor(context, lastOf(asked), reason, restMs > 0 ? Math.min(lookEveryMs, restMs) : retryEveryMs);
}

/** Notes the failure of a request that was sent, after which what was asked for may begin as late as now. */
async function noteFailure(context: StepContext, done: Done, asked: Asked, error: unknown): Promise<Asked> {
  const failure = { words: context.hide(errorChain(error)), byBmc: hasRefused(error) };
  const noted = { ...asked, lastAt: context.clock.now().getTime(), failure };
  done.asked = noted;
  await prolongOwnHold(context, updateMs);
  await noteFirmwareDone(context, done);
  return noted;
}

/** Returns whether the BMC itself has answered, and is not merely busy or behind a proxy that can't reach it. */
function hasRefused(error: unknown): boolean {
  return errorCode(error) === 'bmc_error' && isHttpAnswer(error);
}

/** Forgets that it was asked for what the BMC has certainly not begun. */
async function takeBack(context: StepContext, done: Done): Promise<void> {
  done.asked = null;
  done.begun = null;
  await noteFirmwareDone(context, done);
  if (done.updates.length === 0) await freePower(context, context.step.uuid);
}

function isOfBmc({ signal }: StepContext, error: unknown): boolean {
  return !signal.aborted && ['bmc_error', 'unavailable', 'timeout'].includes(errorCode(error));
}

/**
 * Returns whether the BMC may have begun what it answered so. A request that reached nobody, a busy service (503) and a
 * refusal say that it has not; a web server that failed otherwise, silence, and an error called a success don't say.
 */
function isUnclear(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { status, sent } = cause instanceof AppError ? cause.details : {};
    if (sent === false) return false;
    if (typeof status === 'number') return status < 300 || (status >= 500 && status !== 503);
  }
  return errorCode(error) !== 'bmc_error';
}
