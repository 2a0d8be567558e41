import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningProcess, start } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';
import { endLeftServer } from '#test/support/left-server.ts';
import { conductorProgram, crashingConductor } from '#test/support/programs.ts';
import { makeTestDatabase } from '#test/support/test-database.ts';
import { testKeyFile } from '#test/support/test-secrets.ts';

/** A conductor in its own process on loopback, that can be killed and started again on the same database and port. */
export interface ConductorProcess {
  readonly url: string;
  /** Where its private server is, if it has one. */
  readonly dataDirectory: string;
  /** @throws Error when it does not run */
  pid(): number;
  /** The log so far, JSON lines. */
  log(): string;
  /** Starts it (again); resolves when it serves, or rejects with its log when it ends before. */
  start(settings?: Readonly<Record<string, string>>): Promise<void>;
  /** Resolves with the exit code: 137 after SIGKILL. */
  readonly exited: () => Promise<number>;
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Started with `CRASH_AT_CHECKPOINT=SIGUSR2+n`, it dies at the n-th checkpoint from now on. */
  armCrash(): Promise<void>;
  /** Stops it and deletes its database. */
  close(): Promise<void>;
}

export async function prepareConductor(settings: Readonly<Record<string, string>> = {}): Promise<ConductorProcess> {
  const directory = await mkdtemp(join(tmpdir(), 'baton-conductor-'));
  await chmod(directory, 0o711); // for the user as whom PostgreSQL runs
  const keyFile = join(directory, 'secret.key');
  await writeFile(keyFile, testKeyFile, { mode: 0o600 });
  const database = settings['BATON_DATA_DIR'] ?? join(directory, 'db');
  const named = settings['DATABASE_URL'] ?? settings['BATON_DATA_DIR'];
  const ownDatabase = named === undefined && underVitest ? await makeTestDatabase() : undefined;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let running: RunningProcess | undefined;
  let log = '';
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    running?.kill(signal);
    await running?.exited;
    running = undefined;
  };
  return {
    url,
    dataDirectory: database,
    pid: () => {
      if (!running) throw new Error('the conductor does not run');
      return running.pid;
    },
    log: () => log,
    start: async (more = {}) => {
      const mayCrash = more['CRASH_AT_CHECKPOINT'] !== undefined;
      const [program, args] = mayCrash ? [process.execPath, [crashingConductor]] : [conductorProgram, []];
      const child = start(program, args, {
        env: {
          BATON_PORT: String(port),
          BATON_DATA_DIR: database,
          // the same for all, as conductors on one database need it
          BATON_SECRET_KEY_FILE: keyFile,
          BATON_LOG_LEVEL: 'info',
          BATON_RECONCILE_INTERVAL: '1',
          ...(ownDatabase ? { DATABASE_URL: ownDatabase.url } : {}),
          ...settings,
          ...more,
        },
      });
      running = child;
      child.stderr.on('data', (chunk: Buffer) => {
        log += chunk.toString('utf8');
      });
      const ended = child.exited.then((code) => {
        throw new Error(`the conductor ended with ${code} before it served:\n${log.slice(-4000)}`);
      });
      const serves = waitUntil('the conductor to serve', async () => (await fetch(url)).ok || undefined, {
        timeoutMs: 240_000,
        everyMs: 50,
      });
      await Promise.race([serves, ended]);
      ended.catch(() => undefined); // from here on its end is the test's business: `exited`
    },
    exited: () => running?.exited ?? Promise.resolve(0),
    kill,
    armCrash: async () => {
      const before = log.length;
      running?.kill('SIGUSR2');
      await waitUntil('checkpoints to be counted', () => log.includes('counting checkpoints', before) || undefined, {
        timeoutMs: 240_000,
        everyMs: 20,
      });
    },
    close: async () => {
      await kill('SIGTERM');
      await ownDatabase?.drop();
      await endLeftServer(database);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Tests share a server, whose databases are made in moments; those of the private server name its directory. Benchmarks
 * measure conductors as they ship.
 */
const underVitest = process.env['VITEST'] !== undefined;
