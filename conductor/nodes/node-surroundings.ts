import { and, eq, gt, inArray, isNull, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';
import { agentSessions } from '#conductor/db/schema/agent-session.ts';
import { flowSteps, flows } from '#conductor/db/schema/flow.ts';
import { nodeLeases } from '#conductor/db/schema/node.ts';
import type { NodeSurroundings } from '#conductor/nodes/node-view.ts';
import { listTraits } from '#conductor/nodes/trait-store.ts';

export const noSurroundings: NodeSurroundings = {
  reservation: undefined,
  traits: [],
  currentStep: undefined,
  agent: undefined,
};

/** What the API shows beside the rows of these nodes, in four queries whatever their number. */
export async function readSurroundings(
  db: Queryable,
  nodeUuids: readonly string[],
): Promise<(nodeUuid: string) => NodeSurroundings> {
  if (nodeUuids.length === 0) return () => noSurroundings;
  const uuids = [...nodeUuids];
  const traits = await listTraits(db, uuids);
  const leases = await db
    .select({ nodeUuid: nodeLeases.nodeUuid, holder: nodeLeases.holder })
    .from(nodeLeases)
    .where(and(inArray(nodeLeases.nodeUuid, uuids), gt(nodeLeases.expiresAt, sql`now()`)));
  const sessions = await db.select().from(agentSessions).where(inArray(agentSessions.nodeUuid, uuids));
  const steps = await db
    .select({
      nodeUuid: flows.nodeUuid,
      kind: flows.kind,
      interface: flowSteps.interface,
      step: flowSteps.step,
      args: flowSteps.args,
      priority: flowSteps.priority,
    })
    .from(flowSteps)
    .innerJoin(flows, eq(flows.uuid, flowSteps.flowUuid))
    .where(
      and(inArray(flows.nodeUuid, uuids), isNull(flows.endedAt), inArray(flowSteps.state, ['running', 'waiting'])),
    );
  const holders = new Map(leases.map((row) => [row.nodeUuid, row.holder ?? undefined]));
  const agents = new Map(sessions.map((row) => [row.nodeUuid, row]));
  const current = new Map(steps.map((row) => [row.nodeUuid, row]));
  return (nodeUuid) => ({
    reservation: holders.get(nodeUuid),
    traits: traits.get(nodeUuid) ?? [],
    currentStep: current.get(nodeUuid),
    agent: agents.get(nodeUuid),
  });
}
