import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import { type PowerState, type PowerTarget, powerStateAfter } from '#conductor/model/power-and-boot.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/** What a kind of BMC can do about power; each asks or starts one thing and does not wait for its effect. */
export interface PowerPrimitives {
  /** The BMC in messages, such as `BMC 192.0.2.1`; no secrets. */
  readonly bmc: string;
  readonly read: () => Promise<PowerState | undefined>;
  readonly powerOn: () => Promise<void>;
  readonly powerOff: () => Promise<void>;
  /** Asks the operating system to shut down. */
  readonly softPowerOff: () => Promise<void>;
}

/** Fast machines are seen at once; the pauses grow to `pollMs`. */
const firstPauseMs = 200;

export interface ReachOptions {
  readonly clock: Clock;
  /** Ends with a `TimeoutError` when the whole call took too long. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly pollMs: number;
  /** After this long without an effect a hard power action is sent once more. */
  readonly resendAfterMs: number;
}

/**
 * Brings a machine to a power target and returns when its BMC says so. A reboot is off, confirmed, then on, as Ironic
 * does it: only so can a reboot be confirmed at all, since "on" before and after look the same.
 * @throws AppError `timeout` naming the state that was last seen; whatever the primitives throw.
 */
export async function reachPowerTarget(
  target: PowerTarget,
  primitives: PowerPrimitives,
  options: ReachOptions,
): Promise<void> {
  const until = options.clock.now().getTime() + options.timeoutMs;
  const go = (state: PowerState, act: () => Promise<void>, resend: boolean): Promise<void> =>
    changeState({ target, state, act, resend, until }, primitives, options);
  if (target === 'power off' || target === 'rebooting') await go('power off', primitives.powerOff, true);
  // a second soft request may be a second press of the power button, so it is never sent again
  if (target === 'soft power off' || target === 'soft rebooting') {
    await go('power off', primitives.softPowerOff, false);
  }
  if (powerStateAfter(target) === 'power on') await go('power on', primitives.powerOn, true);
}

interface Change {
  readonly target: PowerTarget;
  readonly state: PowerState;
  readonly act: () => Promise<void>;
  readonly resend: boolean;
  readonly until: number;
}

async function changeState(change: Change, primitives: PowerPrimitives, options: ReachOptions): Promise<void> {
  const { clock, signal } = options;
  const progress: Progress = { seen: undefined, doubt: undefined };
  const late = (): AppError => notReached(change, primitives.bmc, progress, options.timeoutMs);
  try {
    progress.seen = await primitives.read();
    if (progress.seen === change.state) return;
    progress.doubt = await actOrBeThere(change, primitives);
    let resendAt = change.resend ? clock.now().getTime() + options.resendAfterMs : Number.POSITIVE_INFINITY;
    let pauseMs = Math.min(firstPauseMs, options.pollMs);
    for (;;) {
      progress.seen = await primitives.read();
      if (progress.seen === change.state) return;
      const now = clock.now().getTime();
      if (now >= change.until) throw late();
      if (now >= resendAt) {
        // many BMCs answer "accepted" and drop a power-on that comes while the power supply still winds down
        resendAt = Number.POSITIVE_INFINITY;
        await actOrBeThere(change, primitives);
      }
      await clock.sleep(pauseMs, signal);
      pauseMs = Math.min(pauseMs * 2, options.pollMs);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    const stopped = stoppedError(signal, `${change.target} at ${primitives.bmc}`);
    throw stopped.code === 'timeout' ? late() : stopped;
  }
}

interface Progress {
  seen: PowerState | undefined;
  /** The error of an action that may have worked nevertheless. */
  doubt: AppError | undefined;
}

/**
 * A BMC may refuse an action because the machine got there meanwhile: then the refusal is not an error. An action whose
 * answer was lost may have worked: its error is returned, and the power state decides.
 */
async function actOrBeThere(change: Change, primitives: PowerPrimitives): Promise<AppError | undefined> {
  try {
    await change.act();
    return undefined;
  } catch (error) {
    if (error instanceof AppError && error.details['sent'] === true) return error;
    if (errorCode(error) !== 'bmc_error') throw error;
    const seen = await primitives.read();
    if (seen !== change.state) throw error;
    return undefined;
  }
}

function notReached(change: Change, bmc: string, progress: Progress, timeoutMs: number): AppError {
  const seen = progress.seen ?? 'no definite power state';
  return new AppError(
    'timeout',
    `${change.target} at ${bmc}: not confirmed within ${timeoutMs} ms; it reports ${seen} where ${change.state} was expected`,
    progress.doubt ? { cause: progress.doubt } : {},
  );
}
