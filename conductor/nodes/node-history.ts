import { randomUUID } from 'node:crypto';
import { desc, eq } from 'drizzle-orm';
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

export async function addHistory(db: Queryable, entry: HistoryEntry): Promise<void> {
  await db.insert(nodeHistory).values({ uuid: randomUUID(), ...entry, user: entry.user ?? null });
}

/** Newest first, at most 300. */
export function listHistory(db: Queryable, nodeUuid: string): Promise<(typeof nodeHistory.$inferSelect)[]> {
  return db
    .select()
    .from(nodeHistory)
    .where(eq(nodeHistory.nodeUuid, nodeUuid))
    .orderBy(desc(nodeHistory.id))
    .limit(300);
}
