import { appendFile, chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Pool, type PoolConfig } from 'pg';
import { asAccount, chooseAccount } from '#conductor/kernel/db/private-server/server-account.ts';
import {
  findPrograms,
  makeCluster,
  reachablePrograms,
  superuser,
} from '#conductor/kernel/db/private-server/server-programs.ts';
import { type RunningProcess, run, start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';
import { testKeyFile } from '#test/support/test-secrets.ts';

export interface PostgresServer {
  /** `postgres://…` of an empty database. */
  readonly url: string;
  /** For `readConfig`: the database, and the file of the key that all conductors on it need. */
  readonly settings: Readonly<Record<'DATABASE_URL' | 'BATON_SECRET_KEY_FILE', string>>;
  close(): Promise<void>;
}

/**
 * A PostgreSQL server of our own on loopback, with a database in a temporary directory. It ends with this process,
 * however that ends.
 * @param options.durable as a server that keeps what it is given, for benchmarks; else without fsync
 * @param options.serverSettings more of `postgresql.conf`: `shared_buffers=1GB`
 */
export async function startPostgresql(
  options: { readonly durable?: boolean; readonly serverSettings?: readonly string[] } = {},
): Promise<PostgresServer> {
  const host = await preparePostgresHost();
  const data = join(host.directory, 'data');
  await host.makeCluster(data);
  const port = await freePort();
  const server = host.start(data, port, [...(options.durable ? [] : fragile), ...(options.serverSettings ?? [])]);
  const close = async (): Promise<void> => {
    server.kill('SIGINT'); // fast shutdown: disconnects clients
    await server.exited;
    await host.close();
  };
  const url = host.urlOf(port);
  try {
    await waitUntil('PostgreSQL to accept connections', async () => (await asksWell(url)) || undefined, {
      timeoutMs: 240_000,
      everyMs: 50,
    });
  } catch (error) {
    await close();
    throw error;
  }
  const keyFile = join(host.directory, 'secret.key');
  await writeFile(keyFile, testKeyFile, { mode: 0o600 });
  return { url, settings: { DATABASE_URL: url, BATON_SECRET_KEY_FILE: keyFile }, close };
}

/** A directory for servers, and what starts them as a user that is not root. */
export interface PostgresHost {
  readonly directory: string;
  readonly user: string;
  /** Directory of the server's programs that its account may run. */
  readonly programs: string;
  /** Account of the servers; `undefined`: they run as this process does. */
  readonly owner: { readonly uid: number; readonly gid: number } | undefined;
  readonly urlOf: (port: number) => string;
  readonly freePort: () => Promise<number>;
  makeCluster(data: string): Promise<void>;
  /** It ends with this process, however that ends. */
  start(data: string, port: number, settings: readonly string[]): RunningProcess;
  /** Copies a running server into an empty directory, as a standby of it. */
  baseBackup(url: string, data: string): Promise<void>;
  close(): Promise<void>;
}

export async function preparePostgresHost(): Promise<PostgresHost> {
  const directory = await mkdtemp(join(tmpdir(), 'baton-postgresql-'));
  const owner = await chooseAccount(undefined, { run });
  const account = asAccount(owner, run);
  if (owner) await chown(directory, owner.uid, owner.gid);
  await chmod(directory, 0o711);
  const found = await findPrograms({ majorVersion: undefined, directory: undefined }, run);
  const programs = await reachablePrograms(found, { dataDirectory: directory, account, run });
  const as = owner ? [`--reuid=${owner.uid}`, `--regid=${owner.gid}`, '--clear-groups'] : [];
  return {
    directory,
    user: superuser,
    programs: programs.directory,
    owner,
    urlOf: (port) => `postgres://${superuser}@127.0.0.1:${port}/postgres`,
    freePort,
    makeCluster: (data) => makeCluster(data, programs, account, ['--no-sync']),
    start: (data, port, settings) => {
      const all = ['max_connections=300', 'log_min_messages=panic', ...settings];
      const server = start(
        'setpriv',
        [
          ...as,
          '--pdeathsig=KILL',
          '--',
          join(programs.directory, 'postgres'),
          '-D',
          data,
          '-p',
          String(port),
          '-h',
          '127.0.0.1',
          '-k',
          directory,
          ...all.flatMap((setting) => ['-c', setting]),
        ],
        { cwd: '/' },
      );
      server.stderr.resume();
      return server;
    },
    baseBackup: async (url, data) => {
      await rm(data, { recursive: true, force: true });
      const program = join(found.directory, 'pg_basebackup');
      await run('setpriv', [...as, '--', program, '-d', url, '-D', data, '-R', '-X', 'stream', '-c', 'fast', '-N'], {
        cwd: '/',
        timeoutMs: 240_000,
      });
      await appendFile(join(data, 'postgresql.auto.conf'), "synchronous_standby_names = ''\n");
    },
    close: () => rm(directory, { recursive: true, force: true }),
  };
}

/** A power cut would cost its data, which nobody wants. */
const fragile = ['fsync=off', 'full_page_writes=off', 'synchronous_commit=off'];

/** Connections that a server may cut as it stops: `end` doesn't wait until they are closed. Statements fail all the same. */
export function openPool(config: PoolConfig): Pool {
  return new Pool(config).on('error', () => undefined);
}

/** Asks one statement of a server or one of its databases. */
export async function askPostgresql(url: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined); // the statement fails, too
  try {
    await client.connect();
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function asksWell(url: string): Promise<boolean> {
  return askPostgresql(url, 'select 1').then(
    () => true,
    () => false,
  );
}
