import { sql } from 'drizzle-orm';
import { flowReader } from '#conductor/flows/log/flow-store.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { statement } from '#conductor/kernel/db/query/statement.ts';
import { tableReader } from '#conductor/kernel/db/query/table-reader.ts';
import { type AgentSessionRow, agentSessions } from '#conductor/kernel/db/schema/agent.ts';
import type { FlowRow, FlowStepRow } from '#conductor/kernel/db/schema/flow.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { nodeReader } from '#conductor/nodes/node-store.ts';

/** Facts that a conductor looks at before it does anything for a node: one question, for it is asked for every step. */
export interface NodeWork {
  readonly node: NodeRow;
  /** The one that has not ended. */
  readonly flow: FlowRow | null;
  readonly session: AgentSessionRow | null;
  /** Another one whenever one of the three has been written since. */
  readonly version: string;
}

/** `NodeWork.version`, of rows called as their tables. */
export const workVersion = sql.raw(`concat_ws(' ', nodes.xmin, flows.xmin, agent_sessions.xmin)`);

const sessionReader = tableReader(agentSessions, 'nodeUuid');
const selected = sql.raw(`${nodeReader.selected}, ${flowReader.selected}, ${sessionReader.selected}`);
const width = nodeReader.width + flowReader.width + sessionReader.width;
const selectWork = statement<{ nodeUuid: string }, NodeWork>(
  (value) => sql`
    SELECT ${selected}, ${workVersion} FROM nodes
    LEFT JOIN flows ON flows.node_uuid = nodes.uuid AND flows.ended_at IS NULL
    LEFT JOIN agent_sessions ON agent_sessions.node_uuid = nodes.uuid
    WHERE nodes.uuid = ${value('nodeUuid')}`,
  (raw) => ({
    node: nodeReader.read(raw),
    flow: flowReader.readJoined(raw, nodeReader.width),
    session: sessionReader.readJoined(raw, nodeReader.width + flowReader.width),
    version: String(raw[width]),
  }),
);

/** Facts that a flow begins to be worked on with. */
export interface FirstWork {
  readonly work: NodeWork | undefined;
  readonly steps: readonly FlowStepRow[];
}

/** Reads the work on a node; `undefined` for a node that is gone. */
export async function readWork(db: Queryable, nodeUuid: string): Promise<NodeWork | undefined> {
  const [work] = await selectWork(db, { nodeUuid });
  return work;
}
