import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/** A moment by two clocks: the monotonic one may stand still while a virtual machine is frozen, the other may be set. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export const moment = (): Moment => ({ monotonicMs: performance.now(), wallMs: Date.now() });

/** Milliseconds since then: of two clocks that disagree, the one that says more. */
function since(then: Moment): number {
  const now = moment();
  return Math.max(now.monotonicMs - then.monotonicMs, now.wallMs - then.wallMs);
}

/** A lease as long as it is held. */
export interface KeptLease {
  /** Aborts when the lease is lost, or may be lost. */
  readonly signal: AbortSignal;
  /**
   * To be asked before anything is done to the outside world, where no token fences it.
   * @throws AppError `lease_lost` when its time has run out by this computer's own clocks.
   */
  readonly requireHeld: () => void;
  /** No more renewals. */
  stop(): void;
}

export interface KeepContext {
  readonly log: Log;
  readonly config: { readonly leaseMs: number };
}

/** A lease as `keepRenewed` sees it. */
interface Renewable {
  /** What it is on, for errors: `node 1be26c0b-…`. */
  readonly what: string;
  /** The same for the log. */
  readonly about: Readonly<Record<string, string>>;
  /** Prolongs it by the whole of its time; `false` when somebody else has it. */
  readonly renew: () => Promise<boolean>;
}

/**
 * Renews a lease every third of its time, and gives it up when that has not been possible for the whole of it. Its time
 * runs from before the database was asked, so that here it is over before it is over there.
 */
export function keepRenewed(context: KeepContext, lease: Renewable, claimedAt: Moment): KeptLease {
  const { leaseMs } = context.config;
  const lost = new AbortController();
  let renewedAt = claimedAt;
  const giveUp = (why: string): void => {
    lost.abort(new AppError('lease_lost', `the lease on ${lease.what} ${why}`));
  };
  const check = (): void => {
    if (since(renewedAt) >= leaseMs) giveUp('could not be renewed in time');
  };
  let deadline = setTimeout(check, leaseMs - since(claimedAt));
  let isAsking = false;
  const renew = async (): Promise<void> => {
    check();
    if (isAsking || lost.signal.aborted) return;
    isAsking = true;
    const askedAt = moment();
    try {
      if (await lease.renew()) {
        renewedAt = askedAt;
        clearTimeout(deadline);
        deadline = setTimeout(check, leaseMs - since(askedAt));
      } else giveUp('was taken over');
    } catch (error) {
      context.log.error({ ...lease.about, err: error }, 'lease not renewed');
    } finally {
      isAsking = false;
    }
  };
  const renewal = setInterval(() => void renew(), leaseMs / 3);
  return {
    signal: lost.signal,
    requireHeld: () => {
      check();
      lost.signal.throwIfAborted();
    },
    stop: () => {
      clearInterval(renewal);
      clearTimeout(deadline);
    },
  };
}
