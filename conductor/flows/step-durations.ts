import { and, desc, eq, isNotNull, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';
import { flowSteps } from '#conductor/db/schema/flow.ts';
import { stepKey } from '#conductor/flows/planned-step.ts';

/** The last runs of a step, on whatever node, that its prediction is made from. */
const lastRuns = 50;

/**
 * How long each of these steps usually takes: the median of its last successful runs, in seconds; steps that have never
 * run are absent.
 */
export async function typicalSeconds(
  db: Queryable,
  steps: readonly { readonly interface: string; readonly step: string }[],
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (const step of new Map(steps.map((each) => [stepKey(each), each])).values()) {
    const runs = db
      .select({ seconds: sql<number>`extract(epoch from ${flowSteps.endedAt} - ${flowSteps.startedAt})`.as('seconds') })
      .from(flowSteps)
      .where(
        and(
          eq(flowSteps.interface, step.interface),
          eq(flowSteps.step, step.step),
          eq(flowSteps.state, 'succeeded'),
          isNotNull(flowSteps.endedAt),
          isNotNull(flowSteps.startedAt),
        ),
      )
      .orderBy(desc(flowSteps.endedAt))
      .limit(lastRuns)
      .as('runs');
    const [row] = await db
      .select({ median: sql<number | null>`percentile_cont(0.5) within group (order by ${runs.seconds})::float8` })
      .from(runs);
    if (typeof row?.median === 'number') found.set(stepKey(step), row.median);
  }
  return found;
}
