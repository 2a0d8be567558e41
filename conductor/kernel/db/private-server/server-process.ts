import { readFile, readlink, realpath, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AsAccount } from '#conductor/kernel/db/private-server/server-account.ts';
import { type ServerPrograms, superuser } from '#conductor/kernel/db/private-server/server-programs.ts';
import { withClient } from '#conductor/kernel/db/session/session.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import { startDetached } from '#shared/process/run.ts';

/** Where a private server lives, and with what. */
export interface Cluster {
  readonly directory: string;
  readonly logFile: string;
  readonly programs: ServerPrograms;
  readonly account: AsAccount;
  readonly log: Log;
}

/** A server that runs, started by this process or by one before. */
export interface ServerProcess {
  readonly pid: number;
}

/** Part of the name of its socket. */
const port = 5432;

/**
 * Small, for a database of some hundred megabytes that one conductor uses; all else is PostgreSQL's default, fsync
 * included. Errors of statements reach the conductor, which logs them: the server's log has what it does by itself.
 */
const settings = {
  listen_addresses: '',
  port: String(port),
  unix_socket_permissions: '0700',
  max_connections: '40',
  shared_buffers: '32MB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  max_wal_size: '256MB',
  max_parallel_workers_per_gather: '0',
  autovacuum_max_workers: '1',
  jit: 'off',
  huge_pages: 'off',
  log_min_messages: 'log',
  log_checkpoints: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
};
/** Reads in helper processes cost more memory than they save here. */
const settingsFrom18 = { io_method: 'sync' };

/** A log above it is put aside when the server starts; one older log is kept. */
const maxLogBytes = 4 * 1024 * 1024;
const lookEveryMs = 20;
const goneEveryMs = 250;
const logEveryMs = 10_000;

/** Returns how clients reach it: only by its socket. */
export function clusterUrl({ directory }: Pick<Cluster, 'directory'>): string {
  // what the conductor's environment says of other servers (PGPORT, PGSSLMODE) does not hold for this one
  return `postgres://${superuser}@/postgres?host=${encodeURIComponent(directory)}&port=${port}&sslmode=disable`;
}

/**
 * Finds the server that an earlier conductor left running, or starts a new one; resolves when it takes connections.
 * @throws AppError `unavailable` with what its log says when it ends before.
 */
export async function bringUp(cluster: Cluster): Promise<ServerProcess> {
  const before = await findRunning(cluster);
  if (before !== undefined && (await waitUntilUp(cluster, before))) {
    await endOtherSessions(cluster);
    return { pid: before };
  }
  return startServer(cluster);
}

async function startServer(cluster: Cluster): Promise<ServerProcess> {
  const { directory, logFile, programs, account } = cluster;
  const logBytes = await prepareLog(logFile);
  const used = {
    ...settings,
    ...(programs.majorVersion >= 18 ? settingsFrom18 : {}),
    // a list, in which only quotes keep a comma
    unix_socket_directories: `"${directory.replaceAll('"', '""')}"`,
  };
  const options = Object.entries(used).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const argv = account.argv(join(programs.directory, 'postgres'), ['-D', directory, ...options]);
  const pid = await startDetached(argv, { cwd: '/', logFile, env: { PATH: '/usr/bin:/bin', LANG: 'C' } });
  if (await waitUntilUp(cluster, pid)) return { pid };
  const said = (await readFile(logFile)).subarray(logBytes).toString('utf8').trim().split('\n').slice(-6).join('; ');
  throw new AppError('unavailable', `PostgreSQL in ${directory} ended as it started: ${said || 'it said nothing'}`);
}

/** @returns its size: what comes behind is the new server's */
async function prepareLog(file: string): Promise<number> {
  const size = await stat(file).then(
    (found) => found.size,
    () => 0,
  );
  if (size <= maxLogBytes) return size;
  await rename(file, `${file}.old`);
  return 0;
}

/** The first line of `postmaster.pid`, unless that process is another one by now. */
async function findRunning({ directory }: Cluster): Promise<number | undefined> {
  const pid = await readPid(directory);
  if (pid === undefined) return undefined;
  const own = await realpath(directory);
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    // root without all its rights may not look at it
    return (await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')).trim() === 'postgres' ? own : undefined;
  });
  return cwd === own ? pid : undefined;
}

async function readPid(directory: string): Promise<number | undefined> {
  const text = await readFile(join(directory, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number.parseInt(text, 10);
  return Number.isNaN(pid) ? undefined : pid;
}

/** @returns `false` when the process ended before it took connections */
async function waitUntilUp(cluster: Cluster, pid: number): Promise<boolean> {
  let loggedAt = performance.now();
  for (;;) {
    // asked before the connection: a process that ends after it has refused one
    const lives = isAlive(pid);
    const answers = await takesConnections(cluster);
    // and it must be this one that has answered
    if (answers && (await readPid(cluster.directory)) === pid) return true;
    if (!lives) return false;
    if (performance.now() - loggedAt > logEveryMs) {
      cluster.log.warn({ pid }, 'PostgreSQL accepts no connections yet');
      loggedAt = performance.now();
    }
    await systemClock.sleep(lookEveryMs);
  }
}

async function takesConnections(cluster: Cluster): Promise<boolean> {
  return askServer(cluster, 'select 1').then(
    () => true,
    () => false,
  );
}

function askServer(cluster: Cluster, statement: string): Promise<readonly unknown[]> {
  return withClient(
    clusterUrl(cluster),
    async (client) => (await client.query<Record<string, unknown>>(statement)).rows,
  );
}

/**
 * Ends the sessions of a conductor that was killed: what they had begun must not be committed behind the back of the
 * next one.
 */
async function endOtherSessions(cluster: Cluster): Promise<void> {
  const others = `from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()`;
  await askServer(cluster, `select pg_terminate_backend(pid) ${others}`);
  while ((await askServer(cluster, `select pid ${others}`)).length > 0) await systemClock.sleep(lookEveryMs);
}

/** Resolves when the process has ended. */
export async function whenGone({ pid }: ServerProcess, signal?: AbortSignal): Promise<undefined> {
  while (isAlive(pid)) await systemClock.sleep(goneEveryMs, signal);
}

/** Ends all sessions, writes what is in memory, and ends. */
export async function shutDown(server: ServerProcess): Promise<void> {
  if (isAlive(server.pid)) process.kill(server.pid, 'SIGINT');
  while (isAlive(server.pid)) await systemClock.sleep(lookEveryMs);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
