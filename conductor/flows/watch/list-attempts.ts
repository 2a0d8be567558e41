import { and, desc, eq, inArray } from 'drizzle-orm';
import type { FlowStepView } from '#conductor/api/flows.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { flowEvents } from '#conductor/kernel/db/schema/flow.ts';

export type StepAttempt = FlowStepView['attempts'][number];

/** Number of a flow's newest events that are read: a step that is retried for a day has thousands. */
const newest = 400;

/** Reads how often each step of the flow was begun, and when each time it came to wait, by the UUID of the step. */
export async function listAttempts(db: Queryable, flowUuid: string): Promise<ReadonlyMap<string, StepAttempt[]>> {
  const events = await db
    .select({ step: flowEvents.stepUuid, event: flowEvents.event, at: flowEvents.at, detail: flowEvents.detail })
    .from(flowEvents)
    .where(and(eq(flowEvents.flowUuid, flowUuid), inArray(flowEvents.event, ['started', 'waiting'])))
    .orderBy(desc(flowEvents.id))
    .limit(newest);
  return arrangeAttempts(events.toReversed());
}

/**
 * Arranges the events of a step into attempts. Pure.
 * @param events the oldest first; a step that waits several times in one attempt waits from the first on
 */
export function arrangeAttempts(
  events: readonly {
    readonly step: string;
    readonly event: string;
    readonly at: Date;
    readonly detail: string | null;
  }[],
): ReadonlyMap<string, StepAttempt[]> {
  const attempts = new Map<string, StepAttempt[]>();
  for (const { step, event, at, detail } of events) {
    const known = attempts.get(step) ?? [];
    attempts.set(step, known);
    const last = known.at(-1);
    if (event === 'started') known.push({ started_at: at.toISOString(), waits_since: null, reason: null });
    // one whose beginning was not read any more is left out
    else if (last)
      known[known.length - 1] = { ...last, waits_since: last.waits_since ?? at.toISOString(), reason: detail };
  }
  return attempts;
}
