import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { type PlannedStep, stepKey, stepTitle } from '#conductor/model/flows/planned-step.ts';

/** The last runs of a step, on whatever node, that its prediction is made from. */
const lastRuns = 50;

const Medians = z.array(z.object({ title: z.string(), median: z.number() }));

/** The key of runs that are timed together: runs of a step; of a plugin's task, those of that task. */
type TimedStep = Parameters<typeof stepTitle>[0];

/**
 * Returns how long each of these steps usually takes: the median of its last successful runs, in seconds, by its title;
 * steps that have never run are absent.
 */
export async function typicalSeconds(db: Queryable, steps: readonly TimedStep[]): Promise<Map<string, number>> {
  const wanted = [...new Map(steps.map((each) => [stepTitle(each), each])).values()];
  if (wanted.length === 0) return new Map();
  const pairs = wanted.map(
    (each) =>
      sql`(${stepTitle(each)}::text, ${each.interface}::text, ${each.step}::text, ${each.plugin?.plugin ?? null}::text, ${each.plugin?.task ?? null}::int)`,
  );
  // an index answers each step's last runs; a window over the whole table would read years of them
  const answer: unknown = await db.execute(sql`
    select wanted.title, percentile_cont(0.5) within group (order by runs.seconds)::float8 as median
    from (values ${sql.join(pairs, sql`, `)}) as wanted(title, interface, step, plugin, task)
    cross join lateral (
      select extract(epoch from ended_at - started_at) as seconds from flow_steps
      where interface = wanted.interface and step = wanted.step and state = 'succeeded' and ended_at is not null
        and plugin ->> 'plugin' is not distinct from wanted.plugin and (plugin ->> 'task')::int is not distinct from wanted.task
      order by ended_at desc limit ${lastRuns}
    ) as runs
    group by wanted.title`);
  return new Map(Medians.parse(rowsOf(answer)).map((row) => [row.title, row.median]));
}

/** Recognizes `hold` and `wait`, which take as long as the operator says: earlier runs predict nothing. */
export function takesAnyTime(step: Pick<PlannedStep, 'interface' | 'step' | 'inBand'>): boolean {
  return !step.inBand && ['deploy.hold', 'deploy.wait'].includes(stepKey(step));
}

/** Computes what `typicalSeconds` means for a plan, rests not counted; null = not known. */
export function predictSeconds(
  steps: readonly (Pick<PlannedStep, 'interface' | 'step' | 'inBand'> & TimedStep)[],
  typical: ReadonlyMap<string, number>,
): { readonly total: number | null; readonly each: readonly (number | null)[] } {
  const each = steps.map((step) => (takesAnyTime(step) ? null : (typical.get(stepTitle(step)) ?? null)));
  const isKnown = steps.every((step, index) => takesAnyTime(step) || each[index] !== null);
  return { total: isKnown ? each.reduce<number>((sum, seconds) => sum + (seconds ?? 0), 0) : null, each };
}
