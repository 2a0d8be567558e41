import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { takesAnyTime } from '#conductor/flows/log/step-durations.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { isAmong, rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { nodeInventory } from '#conductor/kernel/db/schema/node-parts.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import { type PluginTaskRef, stepTitle } from '#conductor/model/flows/planned-step.ts';
import type { RecordedFlow } from '#conductor/sites/rehearsal/history/steps-of-kind.ts';

/** The last flows of a kind, on whatever nodes, that its times are drawn from. */
const lastFlows = 500;

const Rows = z.array(
  z.object({
    flow: z.string(),
    kind: z.string(),
    node: z.string(),
    succeeded: z.boolean(),
    interface: z.string(),
    step: z.string(),
    plugin: z.unknown(),
    inBand: z.boolean(),
    stepSucceeded: z.boolean(),
    seconds: z.number(),
  }),
);

/** Reads the last ended flows of each kind with the times of their steps, the newest first. */
export async function readHistory(
  db: Queryable,
  kinds: readonly FlowKindName[],
): Promise<readonly Omit<RecordedFlow, 'model'>[]> {
  const answer: unknown = await db.execute(sql`
    select f.uuid as flow, f.kind, f.node_uuid as node, f.state = 'succeeded' as succeeded,
      s.interface, s.step, s.plugin, s.in_band as "inBand", s.state = 'succeeded' as "stepSucceeded",
      extract(epoch from s.ended_at - s.started_at)::float8 as seconds
    from json_array_elements_text(${JSON.stringify(kinds)}::text::json) as wanted(kind)
    cross join lateral (
      select uuid, kind, node_uuid, state, ended_at from flows
      where flows.kind = wanted.kind and node_uuid is not null and ended_at is not null and state in ('succeeded', 'failed')
      order by ended_at desc limit ${lastFlows}
    ) as f
    join flow_steps s on s.flow_uuid = f.uuid
    where s.phase = 'main' and s.state in ('succeeded', 'failed') and s.started_at is not null and s.ended_at is not null
    order by f.ended_at desc, f.uuid, s.position`);
  const rows = Rows.parse(rowsOf(answer));
  return [...Map.groupBy(rows, ({ flow }) => flow).values()].flatMap((steps) => {
    const [first] = steps;
    if (!first) return [];
    const { kind, node, succeeded } = first;
    // the operator says how long they take
    const timed = steps.filter((each) => !takesAnyTime(each));
    return {
      kind: kind as FlowKindName,
      node,
      succeeded,
      steps: timed.map(({ plugin, stepSucceeded, seconds, ...step }) => ({
        title: stepTitle({ ...step, plugin: plugin as PluginTaskRef | null }),
        succeeded: stepSucceeded,
        seconds,
      })),
    };
  });
}

/** Reads maker and product of nodes, as they were inspected last; those of which neither is known are absent. */
export async function readModels(db: Queryable, nodeUuids: readonly string[]): Promise<ReadonlyMap<string, string>> {
  if (nodeUuids.length === 0) return new Map();
  const field = (name: string) => sql<string | null>`${nodeInventory.inventory} -> 'system_vendor' ->> ${name}::text`;
  const rows = await db
    .select({ uuid: nodeInventory.nodeUuid, maker: field('manufacturer'), product: field('product_name') })
    .from(nodeInventory)
    .where(isAmong(nodeInventory.nodeUuid, nodeUuids));
  return new Map(
    rows.flatMap(({ uuid, maker, product }): [string, string][] => {
      const model = [maker, product].filter(Boolean).join(' ');
      return model === '' ? [] : [[uuid, model]];
    }),
  );
}
