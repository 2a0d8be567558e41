import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { systemClock } from '#shared/clock.ts';
import { run } from '#shared/process/run.ts';

/** Where a lab run keeps its things, and how the next one finds what a killed run left behind. */
export interface LabDirectory {
  /** Six hex digits, unique on this machine. */
  readonly id: string;
  /** The network namespace in which everything of this run lives. */
  readonly namespace: string;
  /** Disks, logs, configurations: `build/lab/<id>`. */
  readonly path: string;
  /** Unix sockets, and what has one: `/run/baton-lab/<id>`; a clone's own path may be too long for one (107 bytes). */
  readonly sockets: string;
}

/** Machine-wide, so that any clone's next run finds the leftovers of any other's. */
const registry = '/run/baton-lab';
const keptRuns = 5;

const Owner = z.object({ pid: z.number().int(), startTime: z.string(), namespace: z.string(), path: z.string() });

/** Makes the directories of a new run owned by this process. */
export function createLabDirectory(root = 'build/lab'): LabDirectory {
  const id = randomBytes(3).toString('hex');
  const directory: LabDirectory = {
    id,
    namespace: `baton-${id}`,
    path: resolve(root, id),
    sockets: join(registry, id),
  };
  mkdirSync(directory.path, { recursive: true });
  // under another name until it has its owner: a lab that starts at this moment would remove it
  const unnamed = join(registry, `.${id}`);
  mkdirSync(unnamed, { recursive: true });
  // entered, but not listed, by the user as whom the conductor's PostgreSQL runs
  for (const each of [registry, unnamed]) chmodSync(each, 0o711);
  const owner = { pid: process.pid, startTime: processStartTime(process.pid), ...directory };
  writeFileSync(join(unnamed, 'owner.json'), JSON.stringify(owner));
  renameSync(unnamed, directory.sockets);
  return directory;
}

/** Ends every process in the run's namespace, deletes the namespace, the sockets and the disks; logs stay. */
export async function removeLab(lab: Pick<LabDirectory, 'namespace' | 'path' | 'sockets'>): Promise<void> {
  await removeNamespace(lab.namespace);
  rmSync(lab.sockets, { recursive: true, force: true });
  for (const name of readdirSafe(lab.path)) {
    if (/\.(raw|fd)$/.test(name)) rmSync(join(lab.path, name), { force: true });
  }
}

/**
 * Removes what runs left whose process is gone (killed before it could clean up), and all but the newest logs.
 * @returns the ids of the runs that were removed.
 */
export async function sweepDeadLabs(root = 'build/lab'): Promise<string[]> {
  const swept: string[] = [];
  for (const id of readdirSafe(registry).filter((name) => !name.startsWith('.'))) {
    const sockets = join(registry, id);
    const owner = readOwner(sockets);
    if (owner && processStartTime(owner.pid) === owner.startTime) continue;
    await removeLab({ namespace: `baton-${id}`, path: owner?.path ?? resolve(root, id), sockets });
    swept.push(id);
  }
  const logs = readdirSafe(root).filter((id) => !readdirSafe(registry).includes(id));
  const byAge = logs.toSorted((a, b) => modified(join(root, b)) - modified(join(root, a)));
  for (const id of byAge.slice(keptRuns)) rmSync(join(root, id), { recursive: true, force: true });
  return swept;
}

async function removeNamespace(namespace: string): Promise<void> {
  const { stdout } = await run('ip', ['netns', 'list']);
  const exists = stdout.split('\n').some((line) => line.split(' ')[0] === namespace);
  if (!exists) return;
  // more than once: a process may start another between the listing and its end
  for (let round = 0; round < 20; round += 1) {
    const { stdout: pids } = await run('ip', ['netns', 'pids', namespace]);
    const alive = pids.split(/\s+/).filter(Boolean).map(Number);
    if (alive.length === 0) break;
    for (const pid of alive) killNow(pid);
    await systemClock.sleep(50);
  }
  await run('ip', ['netns', 'delete', namespace]);
}

function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function readOwner(sockets: string): z.infer<typeof Owner> | undefined {
  try {
    return Owner.parse(JSON.parse(readFileSync(join(sockets, 'owner.json'), 'utf8')));
  } catch {
    return undefined; // killed before the file was complete: nobody owns it
  }
}

/** Field 22 of `/proc/<pid>/stat`: tells a process from a later one with the same pid; empty when there is none. */
function processStartTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function readdirSafe(path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

function modified(path: string): number {
  return statSync(path).mtimeMs;
}
