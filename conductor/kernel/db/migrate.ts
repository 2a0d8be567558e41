import { type SQL, sql } from 'drizzle-orm';
import { readMigrationFiles } from 'drizzle-orm/migrator';
import { AppError } from '#shared/errors/app-error.ts';

export const migrationsFolder = new URL('migrations', import.meta.url).pathname;

/**
 * An older conductor must not write into a schema that it does not know: it would lose what the newer ones rely on.
 * (One that runs already goes on while a newer one migrates: a migration takes nothing away that the release before
 * needs.)
 * @throws AppError `conflict` in words for the operator.
 */
export async function requireKnownMigrations(read: (query: SQL) => Promise<unknown>): Promise<void> {
  const there = await read(sql`select to_regclass('drizzle.__drizzle_migrations') is not null as answer`);
  const seen = there ? await read(sql`select max(created_at)::float8 as answer from drizzle.__drizzle_migrations`) : 0;
  if (typeof seen === 'number' && seen > knownMigration()) {
    const ways = 'start that version or a newer one; the only way back is a backup of the database';
    throw new AppError('conflict', `${describeNewer('the database', seen)}: ${ways}`);
  }
}

/** When the newest migration was made that this program knows, in milliseconds since the epoch. */
export function knownMigration(): number {
  return Math.max(...readMigrationFiles({ migrationsFolder }).map(({ folderMillis }) => folderMillis));
}

/** @param seen when the newest migration was made that it has */
export function describeNewer(what: string, seen: number): string {
  return `${what} was migrated by a newer Baton (its schema is of ${day(seen)}, this program's of ${day(knownMigration())})`;
}

function day(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 16).replace('T', ' ');
}
