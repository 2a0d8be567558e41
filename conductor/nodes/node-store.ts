import { eq, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';
import { configDrives, type NodeInsert, type NodeRow, nodes } from '#conductor/db/schema/node.ts';
import { AppError } from '#shared/errors/app-error.ts';

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuidForm.test(text);
}

/** By UUID or name. */
export async function findNode(db: Queryable, ident: string): Promise<NodeRow | undefined> {
  const [row] = await db
    .select()
    .from(nodes)
    .where(isUuid(ident) ? eq(nodes.uuid, ident.toLowerCase()) : eq(nodes.name, ident));
  return row;
}

/** @throws AppError `not_found` in Ironic's words. */
export async function getNode(db: Queryable, ident: string): Promise<NodeRow> {
  const row = await findNode(db, ident);
  if (!row) throw new AppError('not_found', `Node ${ident} could not be found.`);
  return row;
}

/** Everything but `provisionState`, which only `apply-event.ts` writes. */
export type NodeChange = Partial<Omit<NodeInsert, 'id' | 'uuid' | 'provisionState' | 'createdAt' | 'updatedAt'>>;

export async function updateNode(db: Queryable, nodeUuid: string, change: NodeChange): Promise<void> {
  await db
    .update(nodes)
    .set({ ...change, updatedAt: sql`now()` })
    .where(eq(nodes.uuid, nodeUuid));
}

export async function saveConfigDrive(db: Queryable, nodeUuid: string, content: string): Promise<void> {
  await db
    .insert(configDrives)
    .values({ nodeUuid, content })
    .onConflictDoUpdate({ target: configDrives.nodeUuid, set: { content } });
}

export async function readConfigDrive(db: Queryable, nodeUuid: string): Promise<string | undefined> {
  const [row] = await db.select().from(configDrives).where(eq(configDrives.nodeUuid, nodeUuid));
  return row?.content;
}

export async function deleteConfigDrive(db: Queryable, nodeUuid: string): Promise<void> {
  await db.delete(configDrives).where(eq(configDrives.nodeUuid, nodeUuid));
}
