import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Queryable } from '#conductor/kernel/db/query/queryable.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { fleetMetrics, metricTable } from '#conductor/kernel/metrics/metric-table.ts';
import { countDatabaseFault, type Metrics } from '#conductor/kernel/metrics/metrics.ts';
import { transientStates } from '#conductor/model/provision-states.ts';
import type { Log } from '#shared/log.ts';

/** Figures of the whole database, each with the labels of its metric (a null is an empty label). */
const Fleet = z.array(
  z.object({
    metric: z.enum(fleetMetrics),
    a: z.string().nullable(),
    b: z.string().nullable(),
    c: z.string().nullable(),
    value: z.number(),
  }),
);
type FleetFigure = z.infer<typeof Fleet>[number];

/** Seconds in a state of work or waiting that nodes are counted above. */
const thresholds = [900, 3600, 21_600, 86_400] as const;

/** One question for all of them: two reads of the nodes, whose number may be 10,000, and small tables otherwise. */
async function readFleet(db: Queryable, options: { readonly conductorTimeoutMs: number }): Promise<FleetFigure[]> {
  const age = (column: string) => sql`extract(epoch from now() - ${sql.raw(column)})::float8`;
  const busy = sql.join(
    [...transientStates].map((state) => sql`${state}::text`),
    sql`, `,
  );
  const none = sql`null::text`;
  const answer: unknown = await db.execute(sql`
    with busy as materialized (
      select provision_state, ${age('provision_updated_at')} as seconds
      from nodes where provision_state in (${busy}) and not maintenance
    )
    select 'nodes' as metric, provision_state as a, maintenance::text as b, conductor_group as c, count(*)::float8 as value
      from nodes group by 2, 3, 4
    union all select 'nodeFaults', fault, ${none}, ${none}, count(*)::float8 from nodes where fault is not null group by 2
    union all select 'nodeStateSecondsMax', provision_state, ${none}, ${none}, max(seconds) from busy group by 2
    union all select 'nodesLingering', provision_state, limits.over::text, ${none}, count(*) filter (where seconds > limits.over)::float8
      from busy cross join (values ${sql.join(
        thresholds.map((seconds) => sql`(${sql.raw(String(seconds))})`),
        sql`, `,
      )}) as limits(over) group by 2, 3
    union all select 'flowsOpen', kind, state, (held is not null or on_hold is not null)::text, count(*)::float8
      from flows where ended_at is null and node_uuid is not null group by 2, 3, 4
    union all select 'flowAgeSecondsMax', kind, ${none}, ${none}, max(${age('started_at')}) from flows
      where ended_at is null and node_uuid is not null group by 2
    union all select 'siteActions', kind, state, ${none}, count(*)::float8 from flows where site_action_id is not null group by 2, 3
    union all select 'siteActionGroups', stage, ${none}, ${none}, count(*)::float8 from site_action_groups
      where action_id = (select site_action_id from flows where ended_at is null and site_action_id is not null) group by 2
    union all select 'siteActionNodes', status, coalesce(phase, ''), ${none}, count(*)::float8 from site_action_nodes
      where action_id = (select site_action_id from flows where ended_at is null and site_action_id is not null) group by 2, 3
    union all select 'attestationVerdicts', verdict, ${none}, ${none}, count(*)::float8 from node_tpms group by 2
    union all select 'allocations', state, ${none}, ${none}, count(*)::float8 from allocations group by 2
    union all select 'conductorsAlive', ${none}, ${none}, ${none}, count(*)::float8 from conductors
      where stopped_at is null and updated_at > now() - make_interval(secs => ${options.conductorTimeoutMs / 1000})
    union all select 'conductorsKnown', ${none}, ${none}, ${none}, count(*)::float8 from conductors
      where stopped_at is null and updated_at > now() - interval '1 day'
    union all select 'switchPortsDiffering', ${none}, ${none}, ${none}, count(*)::float8 from switch_ports where found is not null
    union all select 'webhooksPending', name, ${none}, ${none}, count(d.id)::float8 from webhooks w
      left join webhook_deliveries d on d.webhook_uuid = w.uuid and d.state = 'pending' group by 2
    union all select 'webhookOldestSeconds', name, ${none}, ${none}, coalesce(max(${age('d.created_at')}), 0) from webhooks w
      left join webhook_deliveries d on d.webhook_uuid = w.uuid and d.state = 'pending' group by 2`);
  return Fleet.parse(rowsOf(answer));
}

/** Operators name conductor groups as they like; the nodes of more groups than these are counted under `other`. */
const maximumGroups = 50;

interface ScrapeContext {
  readonly db: Queryable;
  readonly metrics: Metrics;
  readonly config: Parameters<typeof readFleet>[1];
  readonly log: Log;
}

/**
 * All metrics in Prometheus' text format. While the database is away the figures that come from it are absent, and
 * `baton_database_up` is 0.
 */
export async function scrape(context: ScrapeContext): Promise<string> {
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

/** Sets the fleet's figures; a label set that is no longer there must not be reported any more. */
function setFleet(metrics: Metrics, figures: readonly FleetFigure[]): void {
  for (const name of fleetMetrics) metrics[name].reset();
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
