import { and, eq, isNull } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';
import { type AgentSessionRow, agentSessions } from '#conductor/db/schema/agent-session.ts';
import { type FlowRow, flows } from '#conductor/db/schema/flow.ts';
import { type NodeRow, nodes } from '#conductor/db/schema/node.ts';

/** What a conductor looks at before it does anything for a node: one question, for it is asked for every step. */
export interface NodeWork {
  readonly node: NodeRow;
  /** The one that has not ended. */
  readonly flow: FlowRow | null;
  readonly session: AgentSessionRow | null;
}

/** `undefined` for a node that is gone. */
export async function readWork(db: Queryable, nodeUuid: string): Promise<NodeWork | undefined> {
  const [row] = await db
    .select({ node: nodes, flow: flows, session: agentSessions })
    .from(nodes)
    .leftJoin(flows, and(eq(flows.nodeUuid, nodes.uuid), isNull(flows.endedAt)))
    .leftJoin(agentSessions, eq(agentSessions.nodeUuid, nodes.uuid))
    .where(eq(nodes.uuid, nodeUuid));
  return row;
}
