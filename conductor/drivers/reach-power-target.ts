import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import { type PowerState, type PowerTarget, powerStateAfter } from '#conductor/model/power-and-boot.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Power actions that a kind of BMC has; each asks or starts one thing and does not wait for its effect. */
export interface PowerPrimitives {
  /** The BMC in messages, such as `BMC 192.0.2.1`; no secrets. */
  readonly bmc: string;
  /** `changing` = the BMC names a state that is neither; `undefined` = it names none. */
  readonly read: () => Promise<PowerState | 'changing' | undefined>;
  readonly powerOn: () => Promise<void>;
  readonly powerOff: () => Promise<void>;
  /** Asks the operating system to shut down. */
  readonly softPowerOff: () => Promise<void>;
}

/** Fast machines are seen at once; the pauses grow to `pollMs`. */
const firstPauseMs = 200;

/** How many pauses a BMC has to show a power state, and a machine to get there though the action was refused. */
const doubtfulPolls = 8;
/** The same after a second refusal: an operator who waits is told before 15 s are over, and the next try reads the state again. */
const secondDoubtfulPolls = 3;

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
 * @throws AppError `timeout` naming the state that was last seen; `bmc_error` where the BMC shows none, with nothing sent;
 * whatever the primitives throw.
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
  const watch = watchState(change, primitives, options);
  const late = (): AppError => notReached(change, primitives.bmc, watch, options.timeoutMs);
  try {
    if (await watch.isThere()) return;
    if (watch.seen === undefined && (await watch.isSoonThere({ isEnough: () => watch.seen !== undefined }))) return;
    if (watch.seen === undefined) throw shownNone(change, primitives.bmc);
    if (await actOrBeThere(change, watch)) return;
    let resendAt = change.resend ? clock.now().getTime() + options.resendAfterMs : Number.POSITIVE_INFINITY;
    let pauseMs = Math.min(firstPauseMs, options.pollMs);
    for (;;) {
      if (await watch.isThere()) return;
      const now = clock.now().getTime();
      if (now >= change.until) throw late();
      if (now >= resendAt) {
        // many BMCs answer "accepted" and drop a power-on that comes while the power supply still winds down
        resendAt = Number.POSITIVE_INFINITY;
        if (await actOrBeThere(change, watch)) return;
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

interface SoonThere {
  readonly isEnough?: () => boolean;
  /** Pauses between looks; default `doubtfulPolls`. */
  readonly atMost?: number;
}

interface Watch {
  /** State as it was last read. */
  seen: PowerState | 'changing' | undefined;
  /** The error of an action that may have worked nevertheless. */
  doubt: AppError | undefined;
  readonly isThere: () => Promise<boolean>;
  /** Looks for some seconds, and for as long as the machine changes; or until it `isEnough`. */
  readonly isSoonThere: (options?: SoonThere) => Promise<boolean>;
}

function watchState(
  { state, until }: Change,
  { read }: PowerPrimitives,
  { clock, signal, pollMs }: ReachOptions,
): Watch {
  const watch: Watch = {
    seen: undefined,
    doubt: undefined,
    isThere: async () => {
      watch.seen = await read();
      return watch.seen === state;
    },
    isSoonThere: async ({ isEnough = () => false, atMost = doubtfulPolls } = {}) => {
      for (let polls = 0; ; polls += 1) {
        if (await watch.isThere()) return true;
        const goesOn = watch.seen === 'changing' && clock.now().getTime() < until;
        if (isEnough() || (polls >= atMost && !goesOn)) return false;
        await clock.sleep(pollMs, signal);
      }
    },
  };
  return watch;
}

/**
 * Acts, and tells whether the machine is there by then. A BMC refuses an action because the machine got there meanwhile,
 * or fails at it and does it: the state is read for seconds before that is an error. An action whose answer was lost may
 * have worked: its error is the doubt, and the power state decides.
 */
async function actOrBeThere({ act, resend }: Change, watch: Watch): Promise<boolean> {
  for (let isAgain = false; ; isAgain = true) {
    try {
      await act();
      return false;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      watch.doubt = error;
      if (error.details['sent'] === true) return false;
      const { status } = error.details;
      const isAnswered = error.code === 'bmc_error' || status !== undefined;
      if (!isAnswered) throw error;
      const atMost = isAgain ? secondDoubtfulPolls : doubtfulPolls;
      const isThere = await watch.isSoonThere({ atMost }).catch(() => undefined);
      if (isThere) return true;
      // what a web server failed at once it may do now
      const mayBeDone = isThere === false && !isAgain && resend && status === 500;
      if (!mayBeDone) throw error;
    }
  }
}

function shownNone({ target }: Change, bmc: string): AppError {
  const what = `${target} at ${bmc}: it shows no power state, neither on nor off`;
  return new AppError('bmc_error', `${what}, so that nothing would tell whether it was done; nothing was sent`);
}

function notReached(change: Change, bmc: string, { seen, doubt }: Watch, timeoutMs: number): AppError {
  const shown = seen === undefined || seen === 'changing' ? 'no definite power state' : seen;
  return new AppError(
    'timeout',
    `${change.target} at ${bmc}: not confirmed within ${timeoutMs} ms; it reports ${shown} where ${change.state} was expected`,
    { situation: 'power_unconfirmed', ...(doubt ? { cause: doubt } : {}) },
  );
}
