import { sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';

/** Forgets all documents of the site; the next revision is 1 again. */
export async function forgetRevisions(db: Queryable): Promise<void> {
  await db.execute(sql`truncate site_revisions, site_contents restart identity cascade`);
}
