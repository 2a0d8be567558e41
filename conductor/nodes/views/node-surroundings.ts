import { type SQL, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { onceFor, queryRows, type RawRow, statement } from '#conductor/kernel/db/query/statement.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { NodeField } from '#conductor/model/node-words.ts';
import { isUuid, nodeReader } from '#conductor/nodes/node-store.ts';
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
  flowSteps: undefined,
  agent: undefined,
  differing: [],
};

/** Each is one value per node, in the statement that reads the node: lists of thousands are one question. */
const surroundingColumns = {
  reservation: `(SELECT holder FROM node_leases l WHERE l.node_uuid = nodes.uuid AND l.expires_at > now())`,
  traits: `(SELECT json_agg(trait ORDER BY trait) FROM node_traits t WHERE t.node_uuid = nodes.uuid)`,
  current_step: `(SELECT json_build_object('kind', f.kind, 'interface', s.interface, 'step', s.step, 'args', s.args,
      'priority', s.priority)
    FROM flows f JOIN flow_steps s ON s.flow_uuid = f.uuid AND s.state IN ('running', 'waiting')
    WHERE f.node_uuid = nodes.uuid AND f.ended_at IS NULL LIMIT 1)`,
  flow_steps: `(SELECT json_agg(json_build_object('kind', f.kind, 'interface', s.interface, 'step', s.step, 'args', s.args,
      'priority', s.priority, 'state', s.state) ORDER BY s.position)
    FROM flows f JOIN flow_steps s ON s.flow_uuid = f.uuid AND s.phase = 'main'
    WHERE f.node_uuid = nodes.uuid AND f.ended_at IS NULL)`,
  agent: `(SELECT json_build_object('callbackUrl', callback_url, 'version', version, 'lastHeartbeatAt', last_heartbeat_at)
    FROM agent_sessions a WHERE a.node_uuid = nodes.uuid)`,
  differing: `(SELECT json_agg(json_build_object('address', p.address, 'network', s.network, 'vlans', s.found, 'bond', s.found_bond)
      ORDER BY p.address)
    FROM ports p JOIN switch_ports s ON s.port_uuid = p.uuid AND s.found IS NOT NULL WHERE p.node_uuid = nodes.uuid)`,
} as const;
type SurroundingColumn = keyof typeof surroundingColumns;

/** Columns that these fields are made from; all others are in the node's row. */
const columnOfField: Readonly<Partial<Record<NodeField, readonly SurroundingColumn[]>>> = {
  reservation: ['reservation'],
  conductor: ['reservation'],
  traits: ['traits'],
  clean_step: ['current_step'],
  deploy_step: ['current_step'],
  driver_internal_info: ['agent', 'differing', 'flow_steps'],
};
const allSurroundings = Object.keys(surroundingColumns) as SurroundingColumn[];

/**
 * Reads nodes as the API shows them.
 * @param rest WHERE, ORDER BY and LIMIT
 * @param fields what will be shown; all when absent
 */
export async function readShownNodes(db: Queryable, rest: SQL, fields?: readonly NodeField[]): Promise<ShownNode[]> {
  const beside = surroundingsFor(fields);
  return (await queryRows(db, sql`${selectNodes(beside)} ${rest}`)).map((raw) => readShown(raw, beside));
}

function surroundingsFor(fields: readonly NodeField[] | undefined): readonly SurroundingColumn[] {
  return fields ? [...new Set(fields.flatMap((field) => columnOfField[field] ?? []))] : allSurroundings;
}

function selectNodes(beside: readonly SurroundingColumn[]): SQL {
  return sql.raw(
    `SELECT ${[nodeReader.selected, ...beside.map((name) => surroundingColumns[name])].join(', ')} FROM nodes`,
  );
}

function readShown(raw: RawRow, beside: readonly SurroundingColumn[]): ShownNode {
  const values = Object.fromEntries(beside.map((name, index) => [name, raw[nodeReader.width + index]]));
  return { node: nodeReader.read(raw), surroundings: surroundingsOf(values) };
}

const oneShown = (column: 'uuid' | 'name') =>
  onceFor((beside: readonly SurroundingColumn[]) =>
    statement<{ ident: string }, ShownNode>(
      (value) => sql`${selectNodes(beside)} WHERE ${sql.identifier(column)} = ${value('ident')}`,
      (raw) => readShown(raw, beside),
    ),
  );
const shownWithUuid = oneShown('uuid');
const shownWithName = oneShown('name');

/** Reads a node by UUID or name. @throws AppError `not_found` in Ironic's words. */
export async function getShownNode(db: Queryable, ident: string, fields?: readonly NodeField[]): Promise<ShownNode> {
  const [find, value] = isUuid(ident) ? [shownWithUuid, ident.toLowerCase()] : [shownWithName, ident];
  const [shown] = await find(surroundingsFor(fields))(db, { ident: value });
  if (!shown) throw new AppError('not_found', `Node ${ident} could not be found.`);
  return shown;
}

interface SurroundingRow {
  readonly reservation?: string | null;
  readonly traits?: string[] | null;
  readonly current_step?: NonNullable<NodeSurroundings['currentStep']> | null;
  readonly flow_steps?: NodeSurroundings['flowSteps'] | null;
  readonly agent?: { callbackUrl: string | null; version: string | null; lastHeartbeatAt: string | null } | null;
  readonly differing?: NodeSurroundings['differing'] | null;
}

function surroundingsOf(row: SurroundingRow): NodeSurroundings {
  const { agent } = row;
  return {
    reservation: row.reservation ?? undefined,
    traits: row.traits ?? [],
    currentStep: row.current_step ?? undefined,
    flowSteps: row.flow_steps ?? undefined,
    agent: agent
      ? { ...agent, lastHeartbeatAt: agent.lastHeartbeatAt === null ? null : new Date(agent.lastHeartbeatAt) }
      : undefined,
    differing: row.differing ?? [],
  };
}
