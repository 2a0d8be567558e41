import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import { startDetached } from '#shared/process/run.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { conductorProgram } from '#test/support/programs.ts';

export interface DemoConductor {
  readonly url: string;
  readonly pid: number;
  readonly logFile: string;
  /** Stops it and deletes its data. */
  close(): Promise<void>;
}

const packaged = join(import.meta.dirname, '../../build/bundle/conductor.cjs');
/** Limits of memory as the package's unit has them, which the demo doesn't start it by. */
const limits = ['--max-semi-space-size=4', '--heap-growing-percent=30'];

/** Program of a clone, or of the Debian package. */
const program: readonly string[] = existsSync(conductorProgram)
  ? [conductorProgram]
  : ['MALLOC_MMAP_THRESHOLD_=131072', process.execPath, ...limits, packaged];

const readyMs = 120_000;

/**
 * A conductor of its own on loopback, with a private database below a temporary directory.
 * @param networks its switches and networks, as a file has them
 * @throws AppError `unavailable` with the end of its log when it does not come up
 */
export async function startDemoConductor(port: number, networks: string): Promise<DemoConductor> {
  const directory = await mkdtemp(join(tmpdir(), 'baton-demo-'));
  await chmod(directory, 0o711); // for the user as whom PostgreSQL runs
  const url = `http://127.0.0.1:${port}`;
  const name = `demo-${randomUUID().slice(0, 8)}`; // no other conductor's that may have taken the port meanwhile
  const logFile = join(directory, 'conductor.log');
  const networksFile = join(directory, 'networks.yaml');
  await writeFile(networksFile, networks);
  const settings = {
    BATON_NETWORKS_FILE: networksFile,
    BATON_PORT: String(port),
    BATON_DATA_DIR: join(directory, 'data'),
    BATON_CONDUCTOR_NAME: name,
    BATON_FAST_TRACK: 'true',
    BATON_RETRY_TIMEOUT: '120',
    BATON_RECONCILE_INTERVAL: '1',
  };
  // it ends with this process, however that ends
  const pid = await startDetached(['setpriv', '--pdeathsig=TERM', '--', 'env', ...pairs(settings), ...program], {
    cwd: '/',
    logFile,
    env: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: directory },
  });
  const close = async (): Promise<void> => {
    if (isAlive(pid)) process.kill(pid, 'SIGTERM');
    await waitUntil('the conductor to end', () => !isAlive(pid) || undefined, { timeoutMs: readyMs, everyMs: 50 });
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await waitUntil('the conductor to serve', () => isReady(url, name, pid), { timeoutMs: readyMs, everyMs: 50 });
    if (!isAlive(pid)) throw new AppError('unavailable', await describeEnd(logFile));
  } catch (error) {
    await close();
    throw error;
  }
  return { url, pid, logFile, close };
}

/** `true` for one that has ended, too: the caller looks. */
async function isReady(url: string, name: string, pid: number): Promise<true | undefined> {
  if (!isAlive(pid)) return true;
  if (!(await fetch(`${url}/readyz`)).ok) return undefined;
  const headers = { 'X-OpenStack-Ironic-API-Version': '1.96' };
  return (await fetch(`${url}/v1/conductors/${name}`, { headers })).ok || undefined;
}

async function describeEnd(logFile: string): Promise<string> {
  const text = await readFile(logFile, 'utf8');
  return `the conductor ended as it started:\n${text.trim().split('\n').slice(-5).join('\n')}`;
}

function pairs(settings: Readonly<Record<string, string>>): string[] {
  return Object.entries(settings).map(([name, value]) => `${name}=${value}`);
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
