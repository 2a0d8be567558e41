import { eq, or, sql } from 'drizzle-orm';
import { createBatches } from '#conductor/db/batches.ts';
import type { Queryable } from '#conductor/db/open.ts';
import { rowsOf } from '#conductor/db/rows-of.ts';
import { type AgentSessionRow, agentSessions } from '#conductor/db/schema/agent-session.ts';
import { nodes } from '#conductor/db/schema/node.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** What an agent says of itself. */
export interface AgentContact {
  readonly nodeUuid: string;
  readonly callbackUrl: string;
  readonly version: string | null;
  /** `null` = it says nothing of it: what was known stays. */
  readonly certificate: string | null;
}

/** The sessions of the agents that call in: many at a time, so that each commit to the disk serves many. */
export interface HeartbeatStore {
  /** By UUID or name of the node. @throws AppError `not_found` in Ironic's words. */
  readonly session: (
    ident: string,
  ) => Promise<{ readonly nodeUuid: string; readonly session: AgentSessionRow | undefined }>;
  /** Stores it, and makes the node's flow due. Answers whether there is a flow that waits for a heartbeat. */
  readonly store: (contact: AgentContact) => Promise<'wakes a flow' | 'wakes nobody'>;
}

export function createHeartbeatStore(db: Queryable): HeartbeatStore {
  const read = createBatches((idents: readonly string[]) => readSessions(db, idents));
  const write = createBatches((contacts: readonly AgentContact[]) => writeContacts(db, contacts));
  return {
    session: async (ident) => {
      const found = await read(ident);
      if (!found) throw new AppError('not_found', `Node ${ident} could not be found.`);
      return found;
    },
    store: write,
  };
}

async function readSessions(db: Queryable, idents: readonly string[]) {
  const uuids = idents.filter(isUuid).map((ident) => ident.toLowerCase());
  const names = idents.filter((ident) => !isUuid(ident));
  const rows = await db
    .select({ nodeUuid: nodes.uuid, name: nodes.name, session: agentSessions })
    .from(nodes)
    .leftJoin(agentSessions, eq(agentSessions.nodeUuid, nodes.uuid))
    .where(
      or(
        sql`${nodes.uuid} IN (SELECT value::uuid FROM json_array_elements_text(${JSON.stringify(uuids)}::text::json))`,
        sql`${nodes.name} IN (SELECT value FROM json_array_elements_text(${JSON.stringify(names)}::text::json))`,
      ),
    );
  const found = new Map<string, { readonly nodeUuid: string; readonly session: AgentSessionRow | undefined }>();
  for (const { nodeUuid, name, session } of rows) {
    const entry = { nodeUuid, session: session ?? undefined };
    found.set(nodeUuid, entry);
    if (name !== null) found.set(name, entry);
  }
  return idents.map((ident) => found.get(isUuid(ident) ? ident.toLowerCase() : ident));
}

/** Rows are locked in one order, so that two conductors that write of the same nodes wait, and don't block each other. */
async function writeContacts(db: Queryable, contacts: readonly AgentContact[]) {
  const records = [...new Map(contacts.map((contact) => [contact.nodeUuid, contact])).values()].map((contact) => ({
    node_uuid: contact.nodeUuid,
    callback_url: contact.callbackUrl,
    version: contact.version,
    certificate: contact.certificate,
  }));
  const answer = await db.execute(sql`
    WITH contact AS (
      SELECT * FROM json_to_recordset(${JSON.stringify(records)}::text::json)
        AS c(node_uuid uuid, callback_url text, version text, certificate text)
    ), locked AS (
      SELECT node_uuid FROM agent_sessions WHERE node_uuid IN (SELECT node_uuid FROM contact)
      ORDER BY node_uuid FOR UPDATE
    ), contacted AS (
      UPDATE agent_sessions a
      SET callback_url = c.callback_url, version = c.version, certificate = coalesce(c.certificate, a.certificate),
        last_heartbeat_at = now()
      FROM contact c JOIN locked USING (node_uuid)
      WHERE a.node_uuid = c.node_uuid
      RETURNING a.node_uuid
    )
    UPDATE flows f SET nudges = f.nudges + 1, next_check_at = now()
    FROM contacted c
    WHERE f.node_uuid = c.node_uuid AND f.ended_at IS NULL AND f.on_hold IS NULL
    RETURNING f.node_uuid, f.held`);
  const rows = rowsOf(answer) as { node_uuid: string; held: string | null }[];
  const woken = new Set(rows.filter(({ held }) => held === null).map((row) => row.node_uuid));
  return contacts.map(({ nodeUuid }) => (woken.has(nodeUuid) ? 'wakes a flow' : 'wakes nobody'));
}
