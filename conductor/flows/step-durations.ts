import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Queryable } from '#conductor/db/open.ts';
import { rowsOf } from '#conductor/db/rows-of.ts';
import { type PlannedStep, stepKey } from '#conductor/flows/planned-step.ts';

/** The last runs of a step, on whatever node, that its prediction is made from. */
const lastRuns = 50;

const Medians = z.array(z.object({ interface: z.string(), step: z.string(), median: z.number() }));

/**
 * How long each of these steps usually takes: the median of its last successful runs, in seconds; steps that have never
 * run are absent.
 */
export async function typicalSeconds(
  db: Queryable,
  steps: readonly { readonly interface: string; readonly step: string }[],
): Promise<Map<string, number>> {
  const wanted = [...new Map(steps.map((each) => [stepKey(each), each])).values()];
  if (wanted.length === 0) return new Map();
  const pairs = wanted.map((each) => sql`(${each.interface}::text, ${each.step}::text)`);
  // an index answers each step's last runs; a window over the whole table would read years of them
  const answer: unknown = await db.execute(sql`
    select wanted.interface, wanted.step, percentile_cont(0.5) within group (order by runs.seconds)::float8 as median
    from (values ${sql.join(pairs, sql`, `)}) as wanted(interface, step)
    cross join lateral (
      select extract(epoch from ended_at - started_at) as seconds from flow_steps
      where interface = wanted.interface and step = wanted.step and state = 'succeeded' and ended_at is not null
      order by ended_at desc limit ${lastRuns}
    ) as runs
    group by wanted.interface, wanted.step`);
  return new Map(Medians.parse(rowsOf(answer)).map((row) => [stepKey(row), row.median]));
}

/** `hold` and `wait`: as long as the operator says, which others' runs tell nothing of. */
export function takesAnyTime(step: Pick<PlannedStep, 'interface' | 'step' | 'inBand'>): boolean {
  return !step.inBand && ['deploy.hold', 'deploy.wait'].includes(stepKey(step));
}

/** What `typicalSeconds` means for a plan, rests not counted; null = not known. */
export function predictSeconds(
  steps: readonly Pick<PlannedStep, 'interface' | 'step' | 'inBand'>[],
  typical: ReadonlyMap<string, number>,
): { readonly total: number | null; readonly each: readonly (number | null)[] } {
  const each = steps.map((step) => (takesAnyTime(step) ? null : (typical.get(stepKey(step)) ?? null)));
  const isKnown = steps.every((step, index) => takesAnyTime(step) || each[index] !== null);
  return { total: isKnown ? each.reduce<number>((sum, seconds) => sum + (seconds ?? 0), 0) : null, each };
}
