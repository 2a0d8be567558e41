import { eq, type SQL, sql } from 'drizzle-orm';
import { refusingDuplicates } from '#conductor/kernel/db/faults.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { isAmong, type Statement, statement } from '#conductor/kernel/db/query/statement.ts';
import { rowsBy, tableReader } from '#conductor/kernel/db/query/table-reader.ts';
import { deleteBy, tableWriter } from '#conductor/kernel/db/query/table-writer.ts';
import { configDrives, type NodeInsert, type NodeRow, nodes } from '#conductor/kernel/db/schema/node.ts';
import { AppError } from '#shared/errors/app-error.ts';

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuidForm.test(text);
}

/** Makes the condition for the node that an operator or an agent names, by UUID or name. */
export function isNode(ident: string): SQL {
  return isUuid(ident) ? eq(nodes.uuid, ident.toLowerCase()) : eq(nodes.name, ident);
}

/** Matches many nodes as `isNode` does one. */
export function isAnyNode(idents: readonly string[]): SQL {
  const uuids = idents.filter(isUuid).map((ident) => ident.toLowerCase());
  const names = idents.filter((ident) => !isUuid(ident));
  return sql`(${isAmong(nodes.uuid, uuids)} or ${isAmong(nodes.name, names)})`;
}

/** Finds among rows that `isAnyNode` has chosen, by UUID or name. */
export function finderOf<Row extends { readonly uuid: string; readonly name: string | null }>(
  rows: readonly Row[],
): (ident: string) => Row | undefined {
  const byUuid = new Map(rows.map((row) => [row.uuid, row]));
  const byName = new Map(rows.map((row) => [row.name, row]));
  return (ident) => (isUuid(ident) ? byUuid.get(ident.toLowerCase()) : byName.get(ident));
}

export const nodeReader = tableReader(nodes, 'uuid');
const selectNode = (where: string, lock = ''): Statement<{ ident: string }, NodeRow> =>
  statement(
    (value) =>
      sql`${sql.raw(`SELECT ${nodeReader.selected} FROM nodes WHERE ${where} =`)} ${value('ident')} ${sql.raw(lock)}`,
    (raw) => nodeReader.read(raw),
  );
const nodeWithUuid = selectNode('uuid');
const nodeWithName = selectNode('name');
const lockedNode = selectNode('uuid', 'FOR UPDATE');

/** Finds a node by UUID or name. */
export async function findNode(db: Queryable, ident: string): Promise<NodeRow | undefined> {
  const [row] = await (isUuid(ident) ? nodeWithUuid(db, { ident: ident.toLowerCase() }) : nodeWithName(db, { ident }));
  return row;
}

/** @throws AppError `not_found` in Ironic's words. */
export async function getNode(db: Queryable, ident: string): Promise<NodeRow> {
  const row = await findNode(db, ident);
  if (!row) throw new AppError('not_found', `Node ${ident} could not be found.`);
  return row;
}

/**
 * Locks the row until the transaction ends, so that what is decided from it still holds when it is written.
 * @throws AppError `not_found`.
 */
export async function lockNode(tx: Transaction, nodeUuid: string): Promise<NodeRow> {
  const [row] = await lockedNode(tx, { ident: nodeUuid });
  if (!row) throw new AppError('not_found', `Node ${nodeUuid} could not be found.`);
  return row;
}

/** @throws AppError `conflict` in Ironic's words when uuid, name or instance is another node's. */
export async function insertNode(db: Queryable, node: NodeInsert): Promise<NodeRow> {
  const [row] = await refusingDuplicates(() => db.insert(nodes).values(node).returning(), duplicate(node));
  if (!row) throw new AppError('internal', `insert node ${node.uuid}: the database answered no row`);
  return row;
}

export async function deleteNode(db: Queryable, nodeUuid: string): Promise<void> {
  await db.delete(nodes).where(eq(nodes.uuid, nodeUuid));
}

const nodeWriter = tableWriter(nodes, { primaryKey: 'uuid', also: sql`updated_at = now()` });

/** Everything but `provisionState`, which only `apply-event.ts` writes. */
export type NodeChange = Partial<Omit<NodeInsert, 'id' | 'uuid' | 'provisionState' | 'createdAt' | 'updatedAt'>>;

/**
 * Updates a node's row; does nothing where nothing changes.
 * @throws AppError `conflict` when name or instance is another node's.
 */
export async function updateNode(db: Queryable, nodeUuid: string, change: NodeChange): Promise<void> {
  if (Object.keys(change).length === 0) return;
  await refusingDuplicates(() => nodeWriter.update(db, nodeUuid, change), duplicate({ uuid: nodeUuid, ...change }));
}

function duplicate(node: Pick<NodeInsert, 'uuid' | 'name' | 'instanceUuid'>) {
  return (constraint: string): string => {
    if (/instance_?uuid/i.test(constraint)) {
      return `Instance ${node.instanceUuid} is already associated with another node.`;
    }
    if (constraint.includes('name')) return `A node with name ${node.name} already exists.`;
    return `A node with UUID ${node.uuid} already exists.`;
  };
}

export async function saveConfigDrive(db: Queryable, nodeUuid: string, content: string): Promise<void> {
  await db
    .insert(configDrives)
    .values({ nodeUuid, content })
    .onConflictDoUpdate({ target: configDrives.nodeUuid, set: { content } });
}

export async function readConfigDrive(db: Queryable, nodeUuid: string): Promise<string | undefined> {
  const [row] = await configDriveOf(db, nodeUuid);
  return row?.content;
}

const configDriveOf = rowsBy(configDrives, 'nodeUuid', 'nodeUuid');

export const deleteConfigDrive = deleteBy(configDrives, 'nodeUuid');
