import { and, desc, eq, or, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { flowSteps, flows } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { OsDisk } from '#shared/wire/erase-result.ts';

/** What the last deploy has recorded; `null` = nothing that can be relied on: it may be a data disk of the one after. */
export async function trustedOsDisk(
  db: Queryable,
  { uuid, osDisk }: Pick<NodeRow, 'uuid' | 'osDisk'>,
): Promise<OsDisk | null> {
  if (osDisk === null) return null;
  const wrote = sql`exists (select from ${flowSteps} where ${flowSteps.flowUuid} = ${flows.uuid}
    and ${flowSteps.step} = 'write_image' and ${flowSteps.startedAt} is not null)`;
  // one that has succeeded without may have an instance that boots from a volume
  const [last] = await db
    .select({ uuid: flows.uuid })
    .from(flows)
    .where(and(eq(flows.nodeUuid, uuid), eq(flows.kind, 'deploy'), or(eq(flows.state, 'succeeded'), wrote)))
    .orderBy(desc(flows.startedAt))
    .limit(1);
  return last === undefined || last.uuid === osDisk.flow ? OsDisk.parse(osDisk) : null;
}
