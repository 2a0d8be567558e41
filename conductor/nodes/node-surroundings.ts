import { type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/rows-of.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { NodeField } from '#conductor/model/node-field-names.ts';
import { isNode, nodeReader } from '#conductor/nodes/node-store.ts';
import type { NodeSurroundings } from '#conductor/nodes/node-view.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A node's row and what the API shows beside it. */
export interface ShownNode {
  readonly node: NodeRow;
  readonly surroundings: NodeSurroundings;
}

export const noSurroundings: NodeSurroundings = {
  reservation: undefined,
  traits: [],
  currentStep: undefined,
  agent: undefined,
};

/** Each is one value per node, in the statement that reads the node: lists of thousands are one question. */
const surroundingColumns = {
  reservation: `(SELECT holder FROM node_leases l WHERE l.node_uuid = nodes.uuid AND l.expires_at > now())`,
  traits: `(SELECT json_agg(trait ORDER BY trait) FROM node_traits t WHERE t.node_uuid = nodes.uuid)`,
  current_step: `(SELECT json_build_object('kind', f.kind, 'interface', s.interface, 'step', s.step, 'args', s.args,
      'priority', s.priority)
    FROM flows f JOIN flow_steps s ON s.flow_uuid = f.uuid AND s.state IN ('running', 'waiting')
    WHERE f.node_uuid = nodes.uuid AND f.ended_at IS NULL LIMIT 1)`,
  agent: `(SELECT json_build_object('callbackUrl', callback_url, 'version', version, 'lastHeartbeatAt', last_heartbeat_at)
    FROM agent_sessions a WHERE a.node_uuid = nodes.uuid)`,
} as const;
type SurroundingColumn = keyof typeof surroundingColumns;

/** What these fields are made from; the rest of a node stands in its row. */
const columnOfField: Readonly<Partial<Record<NodeField, SurroundingColumn>>> = {
  reservation: 'reservation',
  conductor: 'reservation',
  traits: 'traits',
  clean_step: 'current_step',
  deploy_step: 'current_step',
  driver_internal_info: 'agent',
};
const allSurroundings = Object.keys(surroundingColumns) as SurroundingColumn[];

/**
 * Reads nodes as the API shows them.
 * @param rest WHERE, ORDER BY and LIMIT
 * @param fields what will be shown; all when absent
 */
export async function readShownNodes(db: Queryable, rest: SQL, fields?: readonly NodeField[]): Promise<ShownNode[]> {
  const wanted = fields?.flatMap((field) => columnOfField[field] ?? []) ?? allSurroundings;
  const beside = [...new Set(wanted)].map((name) => `, ${surroundingColumns[name]} AS shown_${name}`).join('');
  const answer = await db.execute(sql`${sql.raw(`SELECT ${nodeReader.selected}${beside} FROM nodes`)} ${rest}`);
  return (rowsOf(answer) as Record<string, unknown>[]).map((row) => ({
    node: nodeReader.read(row),
    surroundings: surroundingsOf(row),
  }));
}

/** By UUID or name. @throws AppError `not_found` in Ironic's words. */
export async function getShownNode(db: Queryable, ident: string, fields?: readonly NodeField[]): Promise<ShownNode> {
  const [shown] = await readShownNodes(db, sql`WHERE ${isNode(ident)}`, fields);
  if (!shown) throw new AppError('not_found', `Node ${ident} could not be found.`);
  return shown;
}

interface SurroundingRow {
  readonly shown_reservation?: string | null;
  readonly shown_traits?: string[] | null;
  readonly shown_current_step?: NonNullable<NodeSurroundings['currentStep']> | null;
  readonly shown_agent?: { callbackUrl: string | null; version: string | null; lastHeartbeatAt: string | null } | null;
}

function surroundingsOf(row: SurroundingRow): NodeSurroundings {
  const agent = row.shown_agent;
  return {
    reservation: row.shown_reservation ?? undefined,
    traits: row.shown_traits ?? [],
    currentStep: row.shown_current_step ?? undefined,
    agent: agent
      ? { ...agent, lastHeartbeatAt: agent.lastHeartbeatAt === null ? null : new Date(agent.lastHeartbeatAt) }
      : undefined,
  };
}
