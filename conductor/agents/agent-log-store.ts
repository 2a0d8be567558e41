import { and, desc, eq, notInArray } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type AgentLogRow, agentLogs } from '#conductor/kernel/db/schema/agent-log.ts';
import { AppError } from '#shared/errors/app-error.ts';

const keptPerNode = 5;
const maximumBytes = 10 * 1024 * 1024;

/**
 * Keeps what the agent handed over, a gzipped tar; of each node the newest five.
 * @throws AppError `invalid_argument` for more than 10 MiB and for what is no gzip: a later reader could do nothing with it.
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
