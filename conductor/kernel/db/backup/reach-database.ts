import { join, resolve } from 'node:path';
import { Client } from 'pg';
import { type ClientPrograms, findClientPrograms } from '#conductor/kernel/db/backup/client-programs.ts';
import { startPrivateServer } from '#conductor/kernel/db/private-server/private-server.ts';
import { clusterUrl } from '#conductor/kernel/db/private-server/server-process.ts';
import { readDatabaseVersion } from '#conductor/kernel/db/private-server/server-programs.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';

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

async function withUrl<T>(
  url: string,
  settings: BackupSettings,
  work: (database: ReachedDatabase) => Promise<T>,
): Promise<T> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined); // the statement fails, too
  try {
    await client.connect().catch((cause: unknown) => {
      throw new AppError('unavailable', 'connect to the database', { cause });
    });
    const about = `select current_setting('server_version_num')::int / 10000 as major`;
    const { rows } = await client.query<{ major: number }>(about);
    const [{ major: majorVersion } = { major: 0 }] = rows;
    const programs = await findClientPrograms(url, { majorVersion, directory: settings.postgresqlBinDirectory, run });
    return await work({ url, client, programs });
  } finally {
    await client.end();
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return true;
  } catch {
    return false;
  } finally {
    await client.end();
  }
}
