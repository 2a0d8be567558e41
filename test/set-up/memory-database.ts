import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { drizzle } from 'drizzle-orm/pglite';
import { migrate } from 'drizzle-orm/pglite/migrator';
import { migrationsFolder } from '#conductor/db/migrate.ts';
import { templateFile } from '#test/support/memory-database.ts';

/** Before any test: an empty, migrated database, which test files begin with (3 s of CPU for each that makes its own). */
export async function setup(): Promise<void> {
  const file = templateFile();
  if (existsSync(file)) return;
  const client = await PGlite.create('memory://');
  await migrate(drizzle(client), { migrationsFolder });
  const dump = await client.dumpDataDir('none');
  await client.close();
  await mkdir(dirname(file), { recursive: true });
  // whole or not at all: another run of the tests may look at the same time
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, Buffer.from(await dump.arrayBuffer()));
  await rename(unfinished, file);
}
