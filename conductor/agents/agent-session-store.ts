import { eq } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type AgentSessionRow, agentSessions } from '#conductor/kernel/db/schema/agent-session.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { isNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

export async function findAgentSession(db: Queryable, nodeUuid: string): Promise<AgentSessionRow | undefined> {
  const [row] = await db.select().from(agentSessions).where(eq(agentSessions.nodeUuid, nodeUuid));
  return row;
}

/** Makes the boot's session, its token sealed, or answers `false` when there is one already: its token was shown and is not shown again. */
export async function insertAgentSession(db: Queryable, nodeUuid: string, token: string): Promise<boolean> {
  const rows = await db
    .insert(agentSessions)
    .values({ nodeUuid, token })
    .onConflictDoNothing()
    .returning({ nodeUuid: agentSessions.nodeUuid });
  return rows.length > 0;
}

/** The node and its agent's session, by UUID or name. @throws AppError `not_found` in Ironic's words. */
export async function getAgentSession(
  db: Queryable,
  ident: string,
): Promise<{ readonly nodeUuid: string; readonly session: AgentSessionRow | undefined }> {
  const [row] = await db
    .select({ nodeUuid: nodes.uuid, session: agentSessions })
    .from(nodes)
    .leftJoin(agentSessions, eq(agentSessions.nodeUuid, nodes.uuid))
    .where(isNode(ident));
  if (!row) throw new AppError('not_found', `Node ${ident} could not be found.`);
  return { nodeUuid: row.nodeUuid, session: row.session ?? undefined };
}

/** Power off or reboot: the next boot looks itself up again and gets a fresh token. */
export async function forgetAgentSession(db: Queryable, nodeUuid: string): Promise<void> {
  await db.delete(agentSessions).where(eq(agentSessions.nodeUuid, nodeUuid));
}
