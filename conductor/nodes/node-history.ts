import { randomUUID } from 'node:crypto';
import { and, desc, eq, lte } from 'drizzle-orm';
import type { Queryable } from '#conductor/db/open.ts';
import { nodeHistory } from '#conductor/db/schema/node.ts';

export interface HistoryEntry {
  readonly nodeUuid: string;
  readonly severity: 'INFO' | 'ERROR';
  /** `provisioning`, `power`, `network` … */
  readonly eventType: string;
  readonly event: string;
  readonly conductor: string;
  /** Who asked for it, when somebody did. */
  readonly user?: string | undefined;
}

/** As Ironic; a machine that comes and goes for years must not fill the database. */
const kept = 300;

/** Adds an entry, and forgets the node's oldest beyond the 300 that are kept. */
export async function addHistory(db: Queryable, entry: HistoryEntry): Promise<void> {
  await db.insert(nodeHistory).values({ uuid: randomUUID(), ...entry, user: entry.user ?? null });
  const oldest = db
    .select({ id: nodeHistory.id })
    .from(nodeHistory)
    .where(eq(nodeHistory.nodeUuid, entry.nodeUuid))
    .orderBy(desc(nodeHistory.id))
    .offset(kept)
    .limit(1);
  await db.delete(nodeHistory).where(and(eq(nodeHistory.nodeUuid, entry.nodeUuid), lte(nodeHistory.id, oldest)));
}

/** Newest first. */
export function listHistory(db: Queryable, nodeUuid: string): Promise<(typeof nodeHistory.$inferSelect)[]> {
  return db
    .select()
    .from(nodeHistory)
    .where(eq(nodeHistory.nodeUuid, nodeUuid))
    .orderBy(desc(nodeHistory.id))
    .limit(kept);
}
