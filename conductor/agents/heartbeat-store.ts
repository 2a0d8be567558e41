import { eq, sql } from 'drizzle-orm';
import { databaseFaultClass } from '#conductor/kernel/db/faults.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { createBatches } from '#conductor/kernel/db/query/batches.ts';
import { isAmong, rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { type AgentSessionRow, agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { finderOf, isAnyNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** An agent's description of itself. */
export interface AgentContact {
  readonly nodeUuid: string;
  /** The session's token as it is stored (sealed): of the boot that the agent's own was compared with. */
  readonly token: string;
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
  /**
   * Stores it, and makes the node's flow due. Answers whether there is a flow that waits for a heartbeat.
   * @throws AppError `invalid_argument`, as for a wrong token, when the session is another boot's by now, or has another
   * callback URL.
   */
  readonly store: (contact: AgentContact) => Promise<'wakes a flow' | 'wakes nobody'>;
}

export function createHeartbeatStore(db: Queryable): HeartbeatStore {
  const options = { isOneItems: mayBeOneItems };
  const read = createBatches((idents: readonly string[]) => readSessions(db, idents), options);
  const write = createBatches((contacts: readonly AgentContact[]) => writeContacts(db, contacts), options);
  return {
    session: async (ident) => {
      const found = await read(ident);
      if (!found) throw new AppError('not_found', `Node ${ident} could not be found.`);
      return found;
    },
    store: async (contact) => {
      const result = await write(contact);
      if (result === 'is stale') throw new AppError('invalid_argument', 'Invalid or missing agent token received.');
      return result;
    },
  };
}

/** A value that can't be stored, or two who block each other: neither says anything of the others in the batch. */
function mayBeOneItems(error: unknown): boolean {
  return ['22', '23', '40'].includes(databaseFaultClass(error) ?? '');
}

async function readSessions(db: Queryable, idents: readonly string[]) {
  const rows = await db
    .select({ uuid: nodes.uuid, name: nodes.name, session: agentSessions })
    .from(nodes)
    .leftJoin(agentSessions, eq(agentSessions.nodeUuid, nodes.uuid))
    .where(isAnyNode(idents));
  const find = finderOf(rows);
  return idents.map((ident) => {
    const found = find(ident);
    return found && { nodeUuid: found.uuid, session: found.session ?? undefined };
  });
}

/** A flow that is held (its node is in maintenance) has its own time to be looked at: there is nothing to be done sooner. */
const noted = sql.raw(
  'nudges = f.nudges + 1, next_check_at = CASE WHEN f.held IS NULL THEN now() ELSE f.next_check_at END',
);

type Stored = 'wakes a flow' | 'wakes nobody' | 'is stale';

/**
 * Sessions are locked in one order, so that two conductors that write of the same nodes wait, and don't block each other.
 * A flow that somebody holds is not waited for while sessions are locked (anyone who works on the flow may want the session
 * next): its turn comes afterwards, when nothing else is held. The write is fenced: a conductor that was paused after it
 * had compared tokens must not put a former boot's address into the next one's session.
 *
 * Each session and each flow is looked up by its node: PostgreSQL's estimate of a join was one row where tokens are
 * compared, and it read all open flows for each agent.
 */
async function writeContacts(db: Queryable, contacts: readonly AgentContact[]): Promise<readonly Stored[]> {
  const records = [...new Map(contacts.map((contact) => [keyOf(contact), contact])).values()].map((contact) => ({
    node_uuid: contact.nodeUuid,
    token: contact.token,
    callback_url: contact.callbackUrl,
    version: contact.version,
    certificate: contact.certificate,
  }));
  const answer = await db.execute(sql`
    WITH locked AS (
      SELECT c.* FROM (
        SELECT * FROM json_to_recordset(${JSON.stringify(records)}::text::json)
          AS c(node_uuid uuid, token text, callback_url text, version text, certificate text)
        ORDER BY node_uuid
      ) c CROSS JOIN LATERAL (
        SELECT FROM agent_sessions a
        WHERE a.node_uuid = c.node_uuid AND a.token = c.token AND coalesce(a.callback_url, c.callback_url) = c.callback_url
        FOR UPDATE
      ) a
    ), contacted AS (
      UPDATE agent_sessions a
      SET callback_url = c.callback_url, version = c.version, certificate = coalesce(c.certificate, a.certificate),
        last_heartbeat_at = now()
      FROM locked c WHERE a.node_uuid = c.node_uuid
      RETURNING a.node_uuid, a.token, a.callback_url
    ), free AS (
      SELECT f.uuid FROM contacted c CROSS JOIN LATERAL (
        SELECT uuid FROM flows WHERE node_uuid = c.node_uuid AND ended_at IS NULL AND on_hold IS NULL
        FOR UPDATE SKIP LOCKED
      ) f
    ), woken AS (
      UPDATE flows f SET ${noted}
      FROM free WHERE f.uuid = free.uuid
      RETURNING f.node_uuid, f.held
    )
    SELECT c.node_uuid, c.token, c.callback_url, w.node_uuid IS NOT NULL AND w.held IS NULL AS woken,
      w.node_uuid IS NULL AND EXISTS (
        SELECT FROM flows f WHERE f.node_uuid = c.node_uuid AND f.ended_at IS NULL AND f.on_hold IS NULL
      ) AS waits
    FROM contacted c LEFT JOIN woken w ON w.node_uuid = c.node_uuid`);
  const rows = rowsOf(answer) as {
    readonly node_uuid: string;
    readonly token: string;
    readonly callback_url: string;
    readonly woken: boolean;
    readonly waits: boolean;
  }[];
  const waiting = rows.filter(({ waits }) => waits).map((row) => row.node_uuid);
  const wokenLater = waiting.length === 0 ? [] : await wakeFlows(db, waiting);
  const woken = new Set([...rows.filter((row) => row.woken).map((row) => row.node_uuid), ...wokenLater]);
  const stored = new Set(
    rows.map((row) => keyOf({ nodeUuid: row.node_uuid, token: row.token, callbackUrl: row.callback_url })),
  );
  return contacts.map((contact) => {
    if (!stored.has(keyOf(contact))) return 'is stale';
    return woken.has(contact.nodeUuid) ? 'wakes a flow' : 'wakes nobody';
  });
}

function keyOf({ nodeUuid, token, callbackUrl }: Pick<AgentContact, 'nodeUuid' | 'token' | 'callbackUrl'>): string {
  return JSON.stringify([nodeUuid, token, callbackUrl]);
}

/**
 * Wakes those of the nodes' flows that wait for a heartbeat. Flows are locked in one order, and nothing else is held.
 */
async function wakeFlows(db: Queryable, nodeUuids: readonly string[]): Promise<string[]> {
  const answer = await db.execute(sql`
    WITH open AS (
      SELECT uuid FROM flows
      WHERE ${isAmong(flows.nodeUuid, nodeUuids)}
        AND ended_at IS NULL AND on_hold IS NULL
      ORDER BY uuid FOR UPDATE
    )
    UPDATE flows f SET ${noted} FROM open WHERE f.uuid = open.uuid
    RETURNING f.node_uuid, f.held`);
  const rows = rowsOf(answer) as { readonly node_uuid: string; readonly held: string | null }[];
  return rows.filter(({ held }) => held === null).map((row) => row.node_uuid);
}
