import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { migrate as migratePglite } from 'drizzle-orm/pglite/migrator';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import { migrate as migratePostgres } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';
import { lockDirectory } from '#conductor/db/lock-directory.ts';
import { prepareStatements } from '#conductor/db/prepare-statements.ts';
import * as schema from '#conductor/db/schema/index.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Anything that can be asked: the database or a transaction on it. */
export type Queryable = PgDatabase<PgQueryResultHKT, typeof schema>;

/** A function that takes one can't be called without one. */
export type Transaction = Parameters<Parameters<Queryable['transaction']>[0]>[0];

export interface Database {
  readonly db: Queryable;
  /** Tells every conductor on this database (this one too) that something is to be done; best effort. */
  notify(channel: string, payload: string): Promise<void>;
  listen(channel: string, onPayload: (payload: string) => void): Promise<void>;
  /** `true` when no other process can use this database: every lease found at start is a dead process's. */
  readonly exclusive: boolean;
  close(): Promise<void>;
}

const migrationsFolder = new URL('migrations', import.meta.url).pathname;
const casing = 'snake_case';

/**
 * PGlite's own parameters, but with fsync (`-F` turns it off): what the intent log says must survive a power cut. The
 * small buffer suits a database of some megabytes; PostgreSQL's default costs 100 MB more of memory.
 */
const embeddedStartParams = [
  ...PGlite.defaultStartParams.filter((parameter) => parameter !== '-F'),
  '-c',
  'shared_buffers=16MB',
];

/**
 * Opens PostgreSQL (`url`), or PGlite in process under `dataDirectory` (`memory://` for none), and migrates it.
 * @throws AppError `unavailable` when the database can't be opened.
 */
export async function openDatabase(options: {
  readonly url?: string | undefined;
  readonly dataDirectory: string;
}): Promise<Database> {
  try {
    return options.url ? await openPostgres(options.url) : await openPglite(options.dataDirectory);
  } catch (cause) {
    const what = options.url ? 'PostgreSQL at DATABASE_URL' : `the embedded database under ${options.dataDirectory}`;
    throw new AppError('unavailable', `open ${what}`, { cause });
  }
}

async function openPostgres(url: string): Promise<Database> {
  const client = postgres(url, { max: 10, onnotice: () => undefined });
  const db = drizzlePostgres(prepareStatements(client), { schema, casing });
  await migratePostgres(db, { migrationsFolder });
  return {
    db,
    notify: async (channel, payload) => {
      await client.notify(channel, payload);
    },
    listen: async (channel, onPayload) => {
      await client.listen(channel, onPayload);
    },
    exclusive: false,
    close: () => client.end({ timeout: 5 }),
  };
}

async function openPglite(dataDirectory: string): Promise<Database> {
  const inMemory = dataDirectory.startsWith('memory://');
  if (!inMemory) await mkdir(dataDirectory, { recursive: true });
  const lock = inMemory ? undefined : await lockDirectory(dataDirectory);
  const client = await PGlite.create(inMemory ? dataDirectory : join(dataDirectory, 'postgres'), {
    startParams: embeddedStartParams,
  });
  const db = drizzlePglite(client, { schema, casing });
  await migratePglite(db, { migrationsFolder });
  return {
    db,
    notify: async (channel, payload) => {
      await client.query('select pg_notify($1, $2)', [channel, payload]);
    },
    listen: async (channel, onPayload) => {
      await client.listen(channel, onPayload);
    },
    exclusive: true,
    close: async () => {
      await client.close();
      await lock?.release();
    },
  };
}
