import { eq, isNotNull, type SQL, sql } from 'drizzle-orm';
import type { PgColumn, PgTable } from 'drizzle-orm/pg-core';
import type { Database } from '#conductor/kernel/db/open.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/query/queryable.ts';
import { statement } from '#conductor/kernel/db/query/statement.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/** A moment by two clocks: the monotonic one may stand still while a virtual machine is frozen, the other may be set. */
interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export const readMoment = (): Moment => ({ monotonicMs: performance.now(), wallMs: Date.now() });

/** Returns the milliseconds since a moment: where two clocks disagree, the larger number. */
function since(then: Moment): number {
  const now = readMoment();
  return Math.max(now.monotonicMs - then.monotonicMs, now.wallMs - then.wallMs);
}

/** A lease as long as it is held. */
export interface KeptLease {
  /** Aborts when the lease is lost, or may be lost. */
  readonly signal: AbortSignal;
  /**
   * To be asked before anything is done to the outside world, where no token fences it.
   * @throws AppError `lease_lost` when its time, or this conductor's life, is over by this computer's own clocks.
   */
  readonly requireHeld: () => void;
  /** Renews it at once, so that one that was taken away is noticed now. */
  renewNow(): void;
  /** No more renewals. */
  stop(): void;
}

interface KeepContext {
  readonly log: Log;
  readonly config: { readonly leaseMs: number };
  readonly database: Pick<Database, 'life'>;
}

/** A lease as `keepRenewed` sees it. */
interface Renewable {
  /** Name of the leased thing, for errors: `node 1be26c0b-…`. */
  readonly what: string;
  /** The same for the log. */
  readonly about: Readonly<Record<string, string>>;
  /** Prolongs it by the whole of its time; `false` when somebody else has it. */
  readonly renew: () => Promise<boolean>;
}

/**
 * Renews a lease every third of its time while this conductor lives, and gives it up when that has not been possible for
 * the whole of it. Its time runs from before the database was asked, so that here it is over before it is over there.
 */
function keepRenewed(context: KeepContext, lease: Renewable, claimedAt: Moment): KeptLease {
  const { leaseMs } = context.config;
  const { life } = context.database;
  const lost = new AbortController();
  const signal = AbortSignal.any([lost.signal, life.signal()]);
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
    if (isAsking || signal.aborted) return;
    isAsking = true;
    const askedAt = readMoment();
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
    signal,
    requireHeld: () => {
      check();
      life.requireAlive();
      signal.throwIfAborted();
    },
    renewNow: () => void renew(),
    stop: () => {
      clearInterval(renewal);
      clearTimeout(deadline);
    },
  };
}

/**
 * A lease is the right to work on a row for a while. Times are the database's, never the host's. The token grows with
 * every claim: what a former holder still writes is refused by it.
 */
export interface Claim {
  readonly holder: string;
  readonly leaseMs: number;
}

/** Values that a lease is known by, beside its row. */
export interface Held {
  readonly holder: string;
  readonly token: number;
}

export const leaseExpiry = (leaseMs: number): SQL => sql`now() + make_interval(secs => ${leaseMs / 1000})`;

/**
 * Makes the condition, on a row with a lease, that it may be claimed. Without a column for the holder only the time decides.
 */
export function isFree({ holder, expiresAt }: { readonly holder?: PgColumn; readonly expiresAt: PgColumn }): SQL {
  return sql`(${holder ?? expiresAt} is null or ${expiresAt} < now())`;
}

type LeaseTable = PgTable & { readonly holder: PgColumn; readonly token: PgColumn; readonly expiresAt: PgColumn };

/** Values that find a lease in a statement that is built once. */
export interface HeldValues {
  readonly key: string;
  readonly holder: string;
  readonly token: number;
}

/** @param of the row's kind (`site action`) and key, and the name of the key in the log */
export function leasesOn<Lease extends Held>(
  table: LeaseTable,
  of: {
    readonly kind: string;
    readonly logKey: string;
    readonly key: PgColumn;
    readonly keyOf: (lease: Lease) => string;
  },
) {
  const what = (lease: Lease): string => `${of.kind} ${of.keyOf(lease)}`;
  /** @throws AppError `lease_lost` */
  const lost = (lease: Lease): never => {
    throw new AppError('lease_lost', `the lease on ${what(lease)} was taken over by another conductor`);
  };
  /** The lease's row, as long as it is this one; for a statement that is built once, asked with `values`. */
  const isHeldBy = (value: (name: keyof HeldValues) => unknown): SQL =>
    sql`${of.key} = ${value('key')} and ${table.holder} = ${value('holder')} and ${table.token} = ${value('token')}`;
  const values = (lease: Lease): HeldValues => ({ key: of.keyOf(lease), holder: lease.holder, token: lease.token });
  const isHeld = (lease: Lease): SQL => {
    const held = values(lease);
    return isHeldBy((name) => held[name]);
  };
  const release = statement<HeldValues>(
    (value) => sql`update ${table} set holder = null, expires_at = now() where ${isHeldBy(value)}`,
  );
  const hold = statement<HeldValues>((value) => sql`select true from ${table} where ${isHeldBy(value)} for update`);
  /** Prolongs the lease; `false` when it is lost. */
  const renew = async (db: Queryable, lease: Lease, leaseMs: number): Promise<boolean> => {
    const set = { expiresAt: leaseExpiry(leaseMs) };
    const rows = await db.update(table).set(set).where(isHeld(lease)).returning({ token: table.token });
    return rows.length > 0;
  };
  return {
    claimed: ({ holder, leaseMs }: Claim) => ({
      holder,
      token: sql`${table.token} + 1`,
      expiresAt: leaseExpiry(leaseMs),
    }),
    isHeldBy,
    values,
    isHeld,
    renew,
    /** Renews the lease until `stop`, as `keepRenewed`. */
    keep: (context: KeepContext & { readonly db: Queryable }, lease: Lease, claimedAt: Moment): KeptLease =>
      keepRenewed(
        context,
        {
          what: what(lease),
          about: { [of.logKey]: of.keyOf(lease) },
          renew: () => renew(context.db, lease, context.config.leaseMs),
        },
        claimedAt,
      ),
    /** Does nothing when the lease is lost. */
    release: async (db: Queryable, lease: Lease): Promise<void> => {
      await release(db, values(lease));
    },
    /**
     * Locks the lease's row, so that whatever the transaction records is fenced.
     * @throws AppError `lease_lost` when somebody else has claimed it since.
     */
    hold: async (tx: Transaction, lease: Lease): Promise<void> => {
      if ((await hold(tx, values(lease))).length === 0) lost(lease);
    },
    lost,
    /** At start: leases that this conductor's former life (or, on an exclusive database, anybody) left behind are void. */
    releaseStale: async (
      db: Queryable,
      { holder, exclusive }: { readonly holder: string; readonly exclusive: boolean },
    ): Promise<void> => {
      const isStale = exclusive ? isNotNull(table.holder) : eq(table.holder, holder);
      await db.update(table).set({ holder: null }).where(isStale);
    },
  };
}
