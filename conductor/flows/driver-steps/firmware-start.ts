import type { FoundUpdate } from '#conductor/drivers/interfaces.ts';
import { freePower, prolongOwnHold, saysItIsOver } from '#conductor/flows/bmc/hold-power.ts';
import { requireOffered } from '#conductor/flows/driver-steps/driver-step.ts';
import { withFirmwareImage } from '#conductor/flows/driver-steps/fetch-firmware-image.ts';
import { type Asked, type Done, note, type Update } from '#conductor/flows/driver-steps/firmware-done.ts';
import { updateMs, waitingFor } from '#conductor/flows/driver-steps/firmware-time.ts';
import type { ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { AppError, errorChain, errorCode, faultOf, isRetryable } from '#shared/errors/app-error.ts';
import { checkOutboundUrl } from '#shared/peers/outbound-url.ts';

/**
 * Asks the BMC for an update. Before the request that may begin it, whatever fails is tried again for the retry timeout;
 * after a request whose answer is lost, the update's own time rules: its task or another version shows that it has begun,
 * else it is asked for again.
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
  const asked = done.asked?.component === setting.component ? done.asked : undefined;
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

/** Looks once for the task of an update that was accepted without a word of it: versions show an end, and no work. */
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

/** @returns `undefined` = nothing shows that it has begun */
async function findBegun(
  context: StepContext,
  done: Done,
  { component, before, since }: Asked,
): Promise<Update | ConductorStepOutcome | undefined> {
  const about = `the BMC to show whether it has begun the update of ${component}`;
  let found: FoundUpdate;
  try {
    const firmware = requireOffered(context, (bmc) => bmc.firmware);
    found = await firmware.findUpdate(component, before, { signal: context.signal });
  } catch (error) {
    if (!isOfBmc(context, error)) throw error;
    return waitingFor(context, since, `${about}, which does not answer now: ${errorChain(error)}`);
  }
  if (found.state === 'nothing') return undefined;
  if (found.state === 'at work') return waitingFor(context, since, about);
  const task = found.state === 'task' ? found.task : null;
  return begun(context, done, { component, task, before: before.version });
}

async function begun(
  context: StepContext,
  done: Done,
  update: Pick<Update, 'component' | 'task' | 'before'>,
): Promise<Update> {
  const since = done.asked?.since ?? context.clock.now().getTime();
  const whole: Update = { ...update, hasEnded: false, pendingSince: null, lostSince: null, resets: 0, since };
  await note(context, { ...done, updates: [...done.updates, whole] });
  return whole;
}

function ask(context: StepContext, done: Done, { component, url, checksum }: Setting) {
  const rules = context.config.outbound.images;
  return requireOffered(context, (bmc) => bmc.firmware).startUpdate(
    { component, url, mustPush: checksum !== undefined },
    (use, limit) => withFirmwareImage({ url, checksum, rules, signal: limit }, use),
    {
      signal: context.signal,
      beforeAsking: async (before) => {
        if (done.updates.length > 0) await prolongOwnHold(context, updateMs);
        if (done.asked?.component === component) return;
        done.asked = { component, before, since: context.clock.now().getTime() };
        done.begun = component;
        await note(context, done);
      },
    },
  );
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
  const isAsked = done.asked?.component === component;
  if (isAsked && (asked !== undefined || isUnclear(error))) {
    return waitingFor(context, done.asked?.since ?? null, reason);
  }
  // an older release has noted less before it died
  const mayBeAtIt = !isAsked && done.begun === component && context.isRepeated;
  if (mayBeAtIt) return { kind: 'again', reason, ...faultOf(error), timeoutMs: updateMs, checkEveryMs: retryEveryMs };
  if (isAsked) await takeBack(context, done);
  const isPassing = isRetryable(error) || !saysItIsOver(error, context.step) || done.updates.length > 0;
  if (!isPassing) throw error;
  const timeoutMs = context.config.retryTimeoutMs;
  return { kind: 'again', reason, ...faultOf(error), timeoutMs, checkEveryMs: Math.min(retryEveryMs, timeoutMs / 4) };
}

const retryEveryMs = 5_000;

/** Forgets that it was asked for what the BMC has certainly not begun. */
async function takeBack(context: StepContext, done: Done): Promise<void> {
  done.asked = null;
  done.begun = null;
  await note(context, done);
  if (done.updates.length === 0) await freePower(context, context.step.uuid);
}

function isOfBmc({ signal }: StepContext, error: unknown): boolean {
  return !signal.aborted && ['bmc_error', 'unavailable', 'timeout'].includes(errorCode(error));
}

/**
 * Whether the BMC may have begun what it answered so. A request that reached nobody, a busy service (503) and a refusal say
 * that it has not; a web server that failed otherwise, and silence, don't say.
 */
function isUnclear(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { status, sent } = cause instanceof AppError ? cause.details : {};
    if (sent === false) return false;
    if (typeof status === 'number') return status >= 500 && status !== 503;
  }
  return errorCode(error) !== 'bmc_error';
}
