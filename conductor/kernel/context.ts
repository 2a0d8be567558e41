import type { ConductorSettings } from '#conductor/kernel/conductors/conductor-settings.ts';
import type { Register } from '#conductor/kernel/conductors/register.ts';
import type { Database, Queryable } from '#conductor/kernel/db/open.ts';
import type { Metrics } from '#conductor/kernel/metrics/metrics.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { Clock } from '#shared/clock.ts';
import type { Log } from '#shared/log.ts';

export interface KernelConfig extends ConductorSettings {
  readonly conductorName: string;
  /** URL under which nodes and other conductors reach this one. */
  readonly publicUrl: string;
  readonly leaseMs: number;
  readonly reconcileIntervalMs: number;
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
