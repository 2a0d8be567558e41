import type { ConductorSettings } from '#conductor/kernel/conductor-settings.ts';
import type { Database } from '#conductor/kernel/db/open.ts';
import type { Queryable } from '#conductor/kernel/db/query/queryable.ts';
import type { ConductorRow } from '#conductor/kernel/db/schema/conductor.ts';
import type { Metrics } from '#conductor/kernel/metrics/metrics.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { Clock } from '#shared/clock.ts';
import type { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

export interface KernelConfig extends ConductorSettings {
  readonly conductorName: string;
  /** URL under which nodes and other conductors reach this one. */
  readonly publicUrl: string;
  readonly leaseMs: number;
  readonly reconcileIntervalMs: number;
}

/** This conductor's place among all on its database, and what it knows of the others. */
export interface Register {
  /** The conductors that are alive, read now; this one is among them until it says good-bye. */
  live(): Promise<readonly ConductorRow[]>;
  /** The same without asking, as of this conductor's last heartbeat at the latest. */
  recent(): readonly ConductorRow[];
  /** Resolves when another process has taken this one's name, because this one seemed dead: it must end. */
  readonly superseded: Promise<AppError>;
  /** Says good-bye: others take its work. */
  leave(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Means that every part of a conductor may use. Each floor adds its own to it; a function declares the slice that it
 * needs.
 */
export interface KernelContext {
  readonly config: KernelConfig;
  readonly database: Database;
  readonly db: Queryable;
  readonly log: Log;
  readonly clock: Clock;
  /** Seals secrets where they stand, also in rows, and opens them where they are used. */
  readonly secrets: Secrets;
  readonly conductors: Register;
  readonly metrics: Metrics;
  /** Aborts when the conductor begins to stop: it is not ready any more, but answers while others take over. */
  readonly stopping: AbortSignal;
}
