import { and, desc, eq, isNull, ne, notInArray, or, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { deleteBy } from '#conductor/kernel/db/query/table-writer.ts';
import { type AgentLogRow, type AgentSessionRow, agentLogs, agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import type { BootAttestation } from '#conductor/model/tpm/boot-attestation.ts';
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

/** A machine that loads a ramdisk over the network. */
export interface BootClient {
  readonly mac: string;
  /** `undefined` in process. */
  readonly source: string | undefined;
}

/**
 * Inserts a session as `insertAgentSession` does, for a machine whose iPXE fetches its token. Anyone who was shown a
 * token before it by a lookup can't have been the machine, and loses it: unless it has called in since.
 */
export async function giveAgentSession(
  db: Queryable,
  nodeUuid: string,
  token: string,
  { mac, source }: BootClient,
): Promise<boolean> {
  const given = { token, bootMac: mac, bootSource: source ?? null, served: null, attestation: null };
  const rows = await db
    .insert(agentSessions)
    .values({ nodeUuid, ...given })
    .onConflictDoUpdate({
      target: agentSessions.nodeUuid,
      set: given,
      setWhere: sql`${agentSessions.bootMac} is null and ${agentSessions.lastHeartbeatAt} is null`,
    })
    .returning({ nodeUuid: agentSessions.nodeUuid });
  return rows.length > 0;
}

/** Keeps what a boot's machine has proved, or the reason why it has not; of a boot that is over by then it keeps nothing. */
export async function noteAttestation(
  db: Queryable,
  { nodeUuid, token }: Pick<AgentSessionRow, 'nodeUuid' | 'token'>,
  attestation: BootAttestation,
): Promise<void> {
  await db
    .update(agentSessions)
    .set({ attestation })
    .where(and(eq(agentSessions.nodeUuid, nodeUuid), eq(agentSessions.token, token)));
}

/** Keeps why a boot is not trusted, unless it was before: what is proved no later asker takes away. @returns whether it is kept */
export async function noteDistrust(
  db: Queryable,
  { nodeUuid, token }: Pick<AgentSessionRow, 'nodeUuid' | 'token'>,
  attestation: BootAttestation,
): Promise<boolean> {
  const verdict = sql<string>`${agentSessions.attestation}->>'verdict'`;
  const isOpen = or(isNull(agentSessions.attestation), ne(verdict, 'trusted'));
  const rows = await db
    .update(agentSessions)
    .set({ attestation })
    .where(and(eq(agentSessions.nodeUuid, nodeUuid), eq(agentSessions.token, token), isOpen))
    .returning({ nodeUuid: agentSessions.nodeUuid });
  return rows.length > 0;
}

/** Keeps what a boot's machine is served, the first time. @returns what is kept, sealed; `undefined`: the boot is over */
export async function keepServed(
  db: Queryable,
  { nodeUuid, token }: Pick<AgentSessionRow, 'nodeUuid' | 'token'>,
  served: string,
): Promise<string | undefined> {
  const [row] = await db
    .update(agentSessions)
    .set({ served: sql`coalesce(${agentSessions.served}, ${served})` })
    .where(and(eq(agentSessions.nodeUuid, nodeUuid), eq(agentSessions.token, token)))
    .returning({ served: agentSessions.served });
  return row?.served ?? undefined;
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
export const forgetAgentSession = deleteBy(agentSessions, 'nodeUuid');

const keptPerNode = 5;
const maximumBytes = 10 * 1024 * 1024;

/**
 * Keeps what the agent handed over, a gzipped tar; of each node the newest five.
 * @throws AppError `invalid_argument` for more than 10 MiB and for what is not gzip: a later reader could do nothing with it.
 */
export async function saveAgentLogs(
  tx: Transaction,
  logs: { readonly nodeUuid: string; readonly flowUuid: string; readonly content: Uint8Array },
): Promise<void> {
  const { nodeUuid, flowUuid, content } = logs;
  if (content.length > maximumBytes) {
    throw new AppError(
      'invalid_argument',
      `keep the agent's logs: they are ${content.length} bytes, the most that is kept is ${maximumBytes}`,
    );
  }
  if (content[0] !== 0x1f || content[1] !== 0x8b) {
    throw new AppError('invalid_argument', "store the agent's logs: not a gzipped tar archive");
  }
  await tx.insert(agentLogs).values({ nodeUuid, flowUuid, content });
  const newest = tx
    .select({ id: agentLogs.id })
    .from(agentLogs)
    .where(eq(agentLogs.nodeUuid, nodeUuid))
    .orderBy(desc(agentLogs.id))
    .limit(keptPerNode);
  await tx.delete(agentLogs).where(and(eq(agentLogs.nodeUuid, nodeUuid), notInArray(agentLogs.id, newest)));
}

/** The newest logs of the node, or of one of its flows. */
export async function findAgentLogs(
  db: Queryable,
  nodeUuid: string,
  flowUuid?: string,
): Promise<AgentLogRow | undefined> {
  const [row] = await db
    .select()
    .from(agentLogs)
    .where(and(eq(agentLogs.nodeUuid, nodeUuid), flowUuid === undefined ? undefined : eq(agentLogs.flowUuid, flowUuid)))
    .orderBy(desc(agentLogs.id))
    .limit(1);
  return row;
}
