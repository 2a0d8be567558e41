import { databaseFaultClass } from '#conductor/kernel/db/fault-class.ts';
import type { Metrics } from '#conductor/kernel/metrics/metrics.ts';

export function countDatabaseFault(metrics: Pick<Metrics, 'databaseFaults'>, error: unknown): void {
  const faultClass = databaseFaultClass(error);
  if (faultClass !== undefined) metrics.databaseFaults.inc({ class: faultClass });
}
