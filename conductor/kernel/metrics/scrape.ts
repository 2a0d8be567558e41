import type { KernelContext } from '#conductor/kernel/context.ts';
import { countDatabaseFault } from '#conductor/kernel/metrics/database-fault.ts';
import { metricTable } from '#conductor/kernel/metrics/metric-table.ts';
import type { Metrics } from '#conductor/kernel/metrics/metrics.ts';
import { type FleetFigure, readFleet } from '#conductor/kernel/metrics/read-fleet.ts';

/** Operators name conductor groups as they like; the nodes of more groups than these are counted under `other`. */
const maximumGroups = 50;

/**
 * All metrics in Prometheus' text format. While the database is away the figures that come from it are absent, and
 * `baton_database_up` is 0.
 */
export async function scrape(context: Pick<KernelContext, 'db' | 'metrics' | 'config' | 'log'>): Promise<string> {
  const { metrics } = context;
  const started = performance.now();
  let figures: FleetFigure[] = [];
  let isUp = true;
  try {
    figures = await readFleet(context.db, context.config);
  } catch (error) {
    isUp = false;
    countDatabaseFault(metrics, error);
    context.log.warn({ err: error }, 'figures for /metrics not read');
  }
  metrics.databaseUp.set(isUp ? 1 : 0);
  metrics.scrapeSeconds.set((performance.now() - started) / 1000);
  setFleet(metrics, boundGroups(figures));
  return metrics.registry.metrics();
}

/** What is no longer there must not be told any more. */
function setFleet(metrics: Metrics, figures: readonly FleetFigure[]): void {
  for (const [name, definition] of Object.entries(metricTable)) {
    if (definition.kind === 'fleet') metrics[name as FleetFigure['metric']].reset();
  }
  for (const { metric, a, b, c, value } of figures) {
    const names: readonly string[] = metricTable[metric].labels;
    const labels = Object.fromEntries(names.map((name, index) => [name, [a, b, c][index] ?? '']));
    metrics[metric].inc(labels, value);
  }
}

function boundGroups(figures: readonly FleetFigure[]): FleetFigure[] {
  const groups = new Set(figures.filter(({ metric }) => metric === 'nodes').map(({ c }) => c));
  const kept = new Set([...groups].slice(0, maximumGroups));
  return figures.map((figure) =>
    figure.metric === 'nodes' && !kept.has(figure.c) ? { ...figure, c: 'other' } : figure,
  );
}
