import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import type { PgDatabase, PgQueryResultHKT } from 'drizzle-orm/pg-core';
import { drizzle as drizzlePglite } from 'drizzle-orm/pglite';
import { migrate as migratePglite } from 'drizzle-orm/pglite/migrator';
import { drizzle as drizzlePostgres } from 'drizzle-orm/postgres-js';
import { migrate as migratePostgres } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';
import { keepListening } from '#conductor/db/keep-listening.ts';
import { lockDirectory } from '#conductor/db/lock-directory.ts';
import { migrationsFolder, refuseNewerDatabase } from '#conductor/db/migrate.ts';
import { prepareStatements } from '#conductor/db/prepare-statements.ts';
import { rowsOf } from '#conductor/db/rows-of.ts';
import { createSessionLock, type SessionLock } from '#conductor/db/session-lock.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Anything that can be asked: the database or a transaction on it. */
export type Queryable = PgDatabase<PgQueryResultHKT>;

/** A function that takes one can't be called without one. */
export type Transaction = Parameters<Parameters<Queryable['transaction']>[0]>[0];

export interface Database {
  readonly db: Queryable;
  /** Tells every conductor on this database (this one too) that something is to be done; best effort. */
  notify(channel: string, payload: string): Promise<void>;
  /** One listener per channel. */
  listen(channel: string, onPayload: (payload: string) => void): Promise<void>;
  /** A lock among all processes that use this database; the caller releases it. */
  lock(name: string): SessionLock;
  /** `true` when no other process can use this database: every lease found at start is a dead process's. */
  readonly exclusive: boolean;
  close(): Promise<void>;
}

// no `schema`: with it every transaction makes an object for each table, of which nobody asks anything
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
  /** What an embedded database that is new begins with (a dump of PGlite's); to make one from nothing costs seconds. */
  readonly template?: Blob | undefined;
  /** PostgreSQL that says nothing for so long is taken for gone. */
  readonly answerSeconds?: number;
}): Promise<Database> {
  try {
    return options.url
      ? await openPostgres(options.url, options.answerSeconds ?? answerSeconds)
      : await openPglite(options.dataDirectory, options.template);
  } catch (cause) {
    const what = options.url ? 'PostgreSQL at DATABASE_URL' : `the embedded database under ${options.dataDirectory}`;
    throw new AppError('unavailable', `open ${what}`, { cause });
  }
}

/**
 * Whoever stops in the middle of a transaction (a paused virtual machine, a computer that is gone) keeps rows locked
 * which other conductors wait for: the server ends such a session. Ours last for milliseconds.
 */
const idleInTransactionMs = 5_000;
/** A statement that takes longer is ended by the server: ten that wait for a lock would be the whole pool. */
const statementMs = 30_000;
/** After it the server itself is gone, or the way to it. */
const answerSeconds = 45;
const connectSeconds = 10;

async function openPostgres(url: string, answerTimeoutSeconds: number): Promise<Database> {
  const settings = {
    max: 10,
    connect_timeout: connectSeconds,
    onnotice: () => undefined,
    connection: { idle_in_transaction_session_timeout: idleInTransactionMs, statement_timeout: statementMs },
    // ours, not in the package's types (`patches/README.md`)
    answer_timeout: answerTimeoutSeconds,
  };
  const client = postgres(url, settings);
  const db = drizzlePostgres(prepareStatements(client), { casing });
  const listener = keepListening(url);
  const close = async (): Promise<void> => {
    await listener.close();
    await client.end({ timeout: 5 });
  };
  const lock = (name: string): SessionLock => createSessionLock(url, name);
  try {
    await migrateAlone(lock('migration'), url);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    db,
    notify: async (channel, payload) => {
      await client.notify(channel, payload);
    },
    listen: (channel, onPayload) => listener.listen(channel, onPayload),
    lock,
    exclusive: false,
    close,
  };
}

/** Several conductors that are started at once migrate one after the other; it may take its time. */
async function migrateAlone(lock: SessionLock, url: string): Promise<void> {
  await lock.wait();
  const client = postgres(url, { max: 1, onnotice: () => undefined });
  try {
    const db = drizzlePostgres(client, { casing });
    await refuseNewerDatabase(async (query) => answerOf(await db.execute(query)));
    await migratePostgres(db, { migrationsFolder });
  } finally {
    await client.end({ timeout: 5 });
    await lock.release();
  }
}

function answerOf(result: unknown): unknown {
  const [row] = rowsOf(result) as { answer: unknown }[];
  return row?.answer;
}

const alwaysOurs: SessionLock = {
  take: () => Promise.resolve(true),
  wait: () => Promise.resolve(),
  release: () => Promise.resolve(),
};

async function openPglite(dataDirectory: string, template: Blob | undefined): Promise<Database> {
  const inMemory = dataDirectory.startsWith('memory://');
  if (!inMemory) await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const lock = inMemory ? undefined : await lockDirectory(dataDirectory);
  const client = await PGlite.create(inMemory ? dataDirectory : join(dataDirectory, 'postgres'), {
    startParams: embeddedStartParams,
    ...(template ? { loadDataDir: template } : {}),
  });
  const db = drizzlePglite(client, { casing });
  const close = async (): Promise<void> => {
    await client.close();
    await lock?.release();
  };
  try {
    await refuseNewerDatabase(async (query) => answerOf(await db.execute(query)));
    await migratePglite(db, { migrationsFolder });
  } catch (error) {
    await close();
    throw error;
  }
  return {
    db,
    notify: async (channel, payload) => {
      await client.query('select pg_notify($1, $2)', [channel, payload]);
    },
    listen: async (channel, onPayload) => {
      await client.listen(channel, onPayload);
    },
    lock: () => alwaysOurs,
    exclusive: true,
    close,
  };
}
