import { asc, eq, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type ApiTokenRow, apiTokens } from '#conductor/kernel/db/schema/api-token.ts';
import { refusingDuplicates } from '#conductor/kernel/db/violated-constraint.ts';
import { AppError } from '#shared/errors/app-error.ts';

export function listApiTokens(db: Queryable): Promise<ApiTokenRow[]> {
  return db.select().from(apiTokens).orderBy(asc(apiTokens.id));
}

export async function findApiToken(db: Queryable, digest: string): Promise<ApiTokenRow | undefined> {
  const [row] = await db.select().from(apiTokens).where(eq(apiTokens.digest, digest));
  return row;
}

/** @throws AppError `conflict` for a name that is taken. */
export async function insertApiToken(db: Queryable, token: typeof apiTokens.$inferInsert): Promise<ApiTokenRow> {
  const [row] = await refusingDuplicates(
    () => db.insert(apiTokens).values(token).returning(),
    () => `A token with name ${token.name} already exists.`,
  );
  if (!row) throw new AppError('internal', `insert token ${token.name}: the database answered no row`);
  return row;
}

/** By UUID or name. @returns its UUID, or `undefined` when there is none. */
export async function deleteApiToken(db: Queryable, ident: string): Promise<string | undefined> {
  const [row] = await db
    .delete(apiTokens)
    .where(sql`${apiTokens.uuid}::text = ${ident.toLowerCase()} or ${apiTokens.name} = ${ident}`)
    .returning({ uuid: apiTokens.uuid });
  return row?.uuid;
}

export async function recordTokenUse(db: Queryable, tokenUuid: string): Promise<void> {
  await db.update(apiTokens).set({ lastUsedAt: sql`now()` }).where(eq(apiTokens.uuid, tokenUuid));
}
