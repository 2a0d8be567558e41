import { eq, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';
import { type AgentSessionRow, agentSessions } from '#conductor/db/schema/agent-session.ts';

export async function findAgentSession(db: Queryable, nodeUuid: string): Promise<AgentSessionRow | undefined> {
  const [row] = await db.select().from(agentSessions).where(eq(agentSessions.nodeUuid, nodeUuid));
  return row;
}

/** Makes the boot's session, or answers `false` when there is one already: its token was shown and is not shown again. */
export async function insertAgentSession(db: Queryable, nodeUuid: string, token: string): Promise<boolean> {
  const rows = await db
    .insert(agentSessions)
    .values({ nodeUuid, token })
    .onConflictDoNothing()
    .returning({ nodeUuid: agentSessions.nodeUuid });
  return rows.length > 0;
}

export async function recordAgentContact(
  db: Queryable,
  nodeUuid: string,
  contact: Partial<Pick<AgentSessionRow, 'callbackUrl' | 'certificate' | 'version'>>,
): Promise<void> {
  await db
    .update(agentSessions)
    .set({ ...contact, lastHeartbeatAt: sql`now()` })
    .where(eq(agentSessions.nodeUuid, nodeUuid));
}

/** Power off or reboot: the next boot looks itself up again and gets a fresh token. */
export async function forgetAgentSession(db: Queryable, nodeUuid: string): Promise<void> {
  await db.delete(agentSessions).where(eq(agentSessions.nodeUuid, nodeUuid));
}
