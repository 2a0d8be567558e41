import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run, start } from '#shared/process/run.ts';
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

const binaries = '/usr/lib/postgresql/15/bin';

/** A PostgreSQL server of our own on loopback, with a database in a temporary directory; it refuses to run as root. */
export async function startPostgresql(): Promise<PostgresServer> {
  const directory = await mkdtemp(join(tmpdir(), 'baton-postgresql-'));
  const asPostgres = ['-u', 'postgres', '--'];
  const uid = Number((await run('id', ['-u', 'postgres'])).stdout);
  await chown(directory, uid, -1);
  const data = join(directory, 'data');
  await run('runuser', [...asPostgres, `${binaries}/initdb`, '--auth=trust', '--encoding=UTF8', '-D', data], {
    cwd: directory,
  });
  const port = await freePort();
  const settings = ['-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', directory];
  // runuser would stand between us and the server: setpriv becomes it
  const server = start(
    'setpriv',
    ['--reuid=postgres', '--regid=postgres', '--clear-groups', `${binaries}/postgres`, ...settings],
    {
      cwd: directory,
    },
  );
  server.stderr.resume();
  const close = async (): Promise<void> => {
    server.kill('SIGINT'); // fast shutdown: disconnects clients
    await server.exited;
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await waitUntil(
      'PostgreSQL to accept connections',
      async () => {
        await run(`${binaries}/pg_isready`, ['-h', '127.0.0.1', '-p', String(port)]);
        return true;
      },
      { timeoutMs: 60_000 },
    );
  } catch (error) {
    await close();
    throw error;
  }
  const keyFile = join(directory, 'secret.key');
  await writeFile(keyFile, testKeyFile, { mode: 0o600 });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  return { url, settings: { DATABASE_URL: url, BATON_SECRET_KEY_FILE: keyFile }, close };
}
