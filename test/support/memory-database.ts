import { createHash } from 'node:crypto';
import { openAsBlob, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { migrationsFolder } from '#conductor/db/migrate.ts';
import { type Database, openDatabase } from '#conductor/db/open.ts';

const folder = resolve(import.meta.dirname, '../../build/test-database');
const packageFile = resolve(import.meta.dirname, '../../node_modules/@electric-sql/pglite/package.json');

/** Where the template stands that belongs to these migrations and this PGlite; `test/set-up/memory-database.ts` makes it. */
export function templateFile(): string {
  const hash = createHash('sha256').update(readFileSync(packageFile));
  for (const name of readdirSync(migrationsFolder).sort()) {
    if (name.endsWith('.sql')) hash.update(name).update(readFileSync(join(migrationsFolder, name)));
  }
  return join(folder, `${hash.digest('hex').slice(0, 16)}.tar`);
}

/** An embedded database in memory, empty and migrated, that nobody else has. */
export async function openMemoryDatabase(): Promise<Database> {
  return openDatabase({ dataDirectory: 'memory://', template: await openAsBlob(templateFile()) });
}
