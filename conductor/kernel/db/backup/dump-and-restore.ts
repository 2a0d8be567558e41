import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  type BackupSettings,
  type ReachedDatabase,
  reachForDump,
  reachForRestore,
} from '#conductor/kernel/db/backup/reach-database.ts';
import { holdAllNodes } from '#conductor/kernel/db/hold-all-nodes.ts';
import { describeNewer, knownMigration } from '#conductor/kernel/db/open.ts';
import { waitForLock } from '#conductor/kernel/db/session/session.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Schemas of the tables, as the migrations name it, and of the list of migrations that the database has seen. */
const schemas = ['--schema=public', '--schema=drizzle'];

/**
 * Writes the database in `pg_dump`'s custom format, as of one moment: conductors may go on working on it. What is secret
 * stays sealed; the keys are not in it.
 * @throws AppError saying what is missing, or what pg_dump said
 */
export function dumpDatabase(settings: BackupSettings, output: NodeJS.WritableStream): Promise<void> {
  return reachForDump(settings, async ({ programs }) => {
    const args = [
      `--dbname=${programs.connection}`,
      '--format=custom',
      '--no-owner',
      '--no-privileges',
      '--strict-names',
      ...schemas,
    ];
    await programs.stream('pg_dump', args, { output });
  });
}

const reason = 'restored from a dump: compare it with the machine';

const restoreOptions = ['--single-transaction', '--exit-on-error', '--no-owner', '--no-privileges'];

/** @returns a stream of the dump from its beginning; it is read several times */
export type ReadDump = () => NodeJS.ReadableStream;

/**
 * Fills an empty database with a dump, all or nothing; the conductor migrates it at its start.
 * @throws AppError `conflict` for a database that is not empty or a dump of a newer version,
 * `unavailable` while a conductor runs on the private database, `invalid_argument` for what is not a dump of Baton's
 */
export function restoreDatabase(settings: BackupSettings, read: ReadDump): Promise<void> {
  return reachForRestore(settings, async (database) => {
    const release = await waitForLock(database.url, 'migration'); // a conductor that starts now migrates when this is done
    try {
      await requireEmpty(database, settings);
      const list = await listContents(database, read);
      await requireKnownVersion(database, read);
      await restore(database, read, list);
    } finally {
      await release();
    }
  });
}

async function requireEmpty({ client }: ReachedDatabase, settings: BackupSettings): Promise<void> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where relkind in ('r', 'p', 'v', 'm', 'S') and nspname in ('public', 'drizzle')`,
  );
  const count = rows[0]?.count ?? 0;
  if (count === 0) return;
  const instead =
    settings.databaseUrl === undefined
      ? `stop the conductor and move ${join(settings.dataDirectory, 'postgresql')} away`
      : 'stop its conductors and let DATABASE_URL name a new one (createdb)';
  throw new AppError('conflict', `the database is not empty, and nothing in it was changed: ${instead}, then restore`);
}

/** Lists the contents of the dump for `--use-list`, without the schemas, which may exist. */
async function listContents({ programs }: ReachedDatabase, read: ReadDump): Promise<string> {
  const list = await captured((output) =>
    programs.stream('pg_restore', ['--list', '--file=-'], { input: read(), output }),
  ).catch((cause: unknown) => {
    throw new AppError('invalid_argument', 'read the dump', { cause });
  });
  const lines = list.split('\n');
  if (!lines.some((line) => line.includes(' TABLE public nodes '))) {
    throw new AppError('invalid_argument', 'the dump has no table of nodes: another program has made it');
  }
  return lines.filter((line) => !/ SCHEMA - /.test(line)).join('\n');
}

/** @throws AppError `conflict` for a schema that this program does not know */
async function requireKnownVersion({ programs }: ReachedDatabase, read: ReadDump): Promise<void> {
  const table = ['--data-only', '--schema=drizzle', '--table=__drizzle_migrations', '--file=-'];
  const script = await captured((output) => programs.stream('pg_restore', table, { input: read(), output }));
  const seen = newestMigration(script);
  if (seen === undefined)
    throw new AppError('invalid_argument', 'the dump does not say of which version of Baton it is');
  if (seen > knownMigration())
    throw new AppError('conflict', `${describeNewer('the dump', seen)}: restore it with that version or a newer one`);
}

/**
 * Reads the newest migration from `COPY drizzle.__drizzle_migrations (id, hash, created_at) FROM stdin;` and its rows. Pure.
 */
export function newestMigration(script: string): number | undefined {
  const found = /^COPY drizzle\.__drizzle_migrations \(([^)]*)\) FROM stdin;\n([\s\S]*?)^\\\.$/m.exec(script);
  const column = found?.[1]?.split(', ').indexOf('created_at') ?? -1;
  const rows = found?.[2]?.split('\n').filter((line) => line !== '') ?? [];
  const ages = rows.map((row) => Number(row.split('\t')[column])).filter((age) => Number.isFinite(age));
  return ages.length === 0 ? undefined : Math.max(...ages);
}

async function restore(database: ReachedDatabase, read: ReadDump, list: string): Promise<void> {
  const { programs, client } = database;
  const folder = await mkdtemp(join(tmpdir(), 'baton-restore-'));
  try {
    const file = join(folder, 'list');
    await writeFile(file, list);
    await client.query('create schema if not exists drizzle');
    const { connection } = programs;
    const args = [`--dbname=${connection}`, ...restoreOptions, `--use-list=${file}`];
    await programs.stream('pg_restore', args, { input: read() });
    await holdAllNodes((text, values = []) => client.query(text, [...values]), {
      reason,
      by: 'baton database restore',
    });
    // plans are as good as statistics
    await client.query('analyze');
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function captured(write: (output: NodeJS.WritableStream) => Promise<void>): Promise<string> {
  const output = new PassThrough();
  const [all] = await Promise.all([text(output), write(output)]);
  return all;
}
