import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { startPrivateServer } from '#conductor/kernel/db/private-server/private-server.ts';
import { clusterUrl } from '#conductor/kernel/db/private-server/server-process.ts';
import { readDatabaseVersion } from '#conductor/kernel/db/private-server/server-programs.ts';
import { withClient } from '#conductor/kernel/db/session/session.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { type Run, run, start } from '#shared/process/run.ts';

/** PostgreSQL's `pg_dump` and `pg_restore` for one database. */
interface ClientPrograms {
  /** For `--dbname`. */
  readonly connection: string;
  /**
   * Runs one of them to its end; what goes in and comes out is a stream, since a dump may be larger than memory.
   * @throws AppError `command_failed` with what it wrote on standard error
   */
  stream(name: ProgramName, args: readonly string[], pipes: Pipes): Promise<void>;
}

type ProgramName = 'pg_dump' | 'pg_restore';

interface Pipes {
  readonly input?: NodeJS.ReadableStream;
  readonly output?: NodeJS.WritableStream;
}

const maxErrorText = 2000;

/**
 * Finds the programs of exactly the server's major version: a dump by newer ones sets what an older server does not know.
 * @param options.directory BATON_POSTGRESQL_BIN_DIR, if it is set
 * @throws AppError `unavailable` naming the package that has them
 */
async function findClientPrograms(
  url: string,
  options: { readonly majorVersion: number; readonly directory: string | undefined; readonly run: Run },
): Promise<ClientPrograms> {
  const { majorVersion, run } = options;
  const places = [`/usr/lib/postgresql/${majorVersion}/bin`, ...(options.directory ? [options.directory] : [])];
  const fitting = await Promise.all(places.map((place) => isOfVersion(place, majorVersion, run)));
  const directory = places[fitting.indexOf(true)];
  if (directory === undefined) {
    throw new AppError(
      'unavailable',
      `pg_dump and pg_restore of PostgreSQL ${majorVersion}, the server's version, are not in ${places.join(' or ')}: ` +
        `install postgresql-client-${majorVersion}, or name their directory with BATON_POSTGRESQL_BIN_DIR`,
    );
  }
  const { connection, password } = splitPassword(url);
  return {
    connection,
    stream: (name, args, pipes) => streamThrough([join(directory, name), ...args], password, pipes),
  };
}

async function isOfVersion(directory: string, majorVersion: number, run: Run): Promise<boolean> {
  const said = await run(join(directory, 'pg_restore'), ['--version']).catch(() => undefined);
  return said !== undefined && /\(PostgreSQL\) (\d+)/.exec(said.stdout)?.[1] === String(majorVersion);
}

/** Splits the password from a URL, since other users of the machine can read a program's arguments. */
function splitPassword(url: string): { readonly connection: string; readonly password: string | undefined } {
  const [, password] = /^postgres(?:ql)?:\/\/[^:@/?]*:([^@/]*)@/.exec(url) ?? /[?&]password=([^&]*)/.exec(url) ?? [];
  if (password === undefined) return { connection: url, password };
  const connection = url.replace(`:${password}@`, '@').replace(`password=${password}`, '');
  return { connection, password: decodeURIComponent(password) };
}

async function streamThrough(
  [program = '', ...args]: readonly string[],
  password: string | undefined,
  { input, output }: Pipes,
): Promise<void> {
  const child = start(program, args, {
    cwd: '/',
    ...(password === undefined ? {} : { env: { PGPASSWORD: password } }),
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk.toString('utf8')}`.slice(-maxErrorText);
  });
  // one that ends early closes its input: its exit code says why
  const sent = input === undefined ? undefined : pipeline(input, child.stdin).catch(() => undefined);
  if (input === undefined) child.stdin.end();
  if (output === undefined) child.stdout.resume();
  else {
    await pipeline(child.stdout, output).catch(async (cause: unknown) => {
      child.kill('SIGKILL');
      throw new AppError('command_failed', `write what ${program} dumps`, { cause });
    });
  }
  await sent;
  const exitCode = await child.exited;
  if (exitCode !== 0) throw new AppError('command_failed', `${program} exited with ${exitCode}: ${said.trim()}`);
}

/** Which database: as the conductor's settings say. */
export interface BackupSettings {
  readonly databaseUrl: string | undefined;
  readonly dataDirectory: string;
  readonly postgresqlUser: string | undefined;
  readonly postgresqlBinDirectory: string | undefined;
}

/** A server that runs, and the programs for it. */
export interface ReachedDatabase {
  readonly url: string;
  readonly client: Client;
  readonly programs: ClientPrograms;
}

/**
 * Calls `work` with the database of DATABASE_URL, or with the private one: that of the conductor which runs, else its
 * server is started for as long as it takes.
 * @throws AppError `not_found` when there is no private database, `unavailable` when it can't be reached
 */
export async function reachForDump<T>(
  settings: BackupSettings,
  work: (database: ReachedDatabase) => Promise<T>,
): Promise<T> {
  const { databaseUrl, dataDirectory } = settings;
  if (databaseUrl !== undefined) return withUrl(databaseUrl, settings, work);
  const directory = join(resolve(dataDirectory), 'postgresql');
  if ((await readDatabaseVersion(directory)) === undefined) {
    throw new AppError(
      'not_found',
      `there is no database in ${directory}: set BATON_DATA_DIR or DATABASE_URL as the conductor has it`,
    );
  }
  const running = clusterUrl({ directory });
  if (await answers(running)) return withUrl(running, settings, work);
  return withPrivateServer(settings, work);
}

/**
 * Calls `work` with the database of DATABASE_URL, or with the private one, made if there is none.
 * @throws AppError `unavailable` when a conductor runs on the private one, or it can't be reached
 */
export function reachForRestore<T>(
  settings: BackupSettings,
  work: (database: ReachedDatabase) => Promise<T>,
): Promise<T> {
  const { databaseUrl } = settings;
  return databaseUrl === undefined ? withPrivateServer(settings, work) : withUrl(databaseUrl, settings, work);
}

async function withPrivateServer<T>(
  settings: BackupSettings,
  work: (database: ReachedDatabase) => Promise<T>,
): Promise<T> {
  const { dataDirectory, postgresqlUser: user, postgresqlBinDirectory: binDirectory } = settings;
  const server = await startPrivateServer({ dataDirectory, user, binDirectory, run, log: silentLog });
  try {
    return await withUrl(server.url, settings, work);
  } finally {
    await server.close();
  }
}

function withUrl<T>(
  url: string,
  settings: BackupSettings,
  work: (database: ReachedDatabase) => Promise<T>,
): Promise<T> {
  return withClient(url, async (client) => {
    const about = `select current_setting('server_version_num')::int / 10000 as major`;
    const { rows } = await client.query<{ major: number }>(about);
    const [{ major: majorVersion } = { major: 0 }] = rows;
    const programs = await findClientPrograms(url, { majorVersion, directory: settings.postgresqlBinDirectory, run });
    return work({ url, client, programs });
  });
}

function answers(url: string): Promise<boolean> {
  return withClient(url, () => Promise.resolve(true)).catch(() => false);
}
