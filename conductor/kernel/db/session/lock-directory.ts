import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '#shared/errors/app-error.ts';
import { start } from '#shared/process/run.ts';

/**
 * Keeps a second conductor off an embedded database, which two processes destroy. The lock is the kernel's (`flock`), so
 * that it ends with this process however that ends, and holds between containers that share the directory: a child
 * holds it as long as its standard input is open.
 * @throws AppError `unavailable` naming who holds it, after five seconds: the one before may just be stopping.
 */
export async function lockDirectory(directory: string): Promise<{ release(): Promise<void> }> {
  const file = join(directory, 'baton.lock');
  const child = start('flock', ['--exclusive', '--timeout', '5', file, 'cat'], {
    // its own session: Ctrl-C must reach only the conductor, which needs the lock until it has stopped
    detached: true,
  });
  child.stdin.on('error', () => undefined); // flock gave up: its exit says so
  child.stdin.write('locked\n');
  // cat answers once flock has let it run
  const locked = once(child.stdout, 'data').then(() => true);
  if (!(await Promise.race([locked, child.exited.then(() => false)]))) {
    const holder = await readFile(join(directory, 'baton.pid'), 'utf8').catch(() => 'unknown');
    throw new AppError('unavailable', `${directory} is in use by another conductor (process ${holder.trim()})`);
  }
  await writeFile(join(directory, 'baton.pid'), `${process.pid}\n`);
  return {
    release: async () => {
      child.stdin.end();
      await child.exited;
    },
  };
}
