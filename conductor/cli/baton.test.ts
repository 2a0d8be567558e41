import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';

const launcher = join(import.meta.dirname, 'baton');

let folder = '';
afterEach(() => rm(folder, { recursive: true }));

test('by a link to a link the launcher finds its own Node.js and the sources', async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-link-'));
  await symlink(launcher, join(folder, 'absolute'));
  await symlink('absolute', join(folder, 'baton'));
  await symlink(relative(folder, launcher), join(folder, 'other'));
  for (const name of ['baton', 'other']) {
    const { stdout } = await run(join(folder, name), ['site', 'tag', '--help'], { timeoutMs: 240_000 });
    expect(stdout).toContain('usage: baton site tag REVISION TAG');
    // run ends badly for any exit code but 0
    const version = await run(join(folder, name), ['--version'], { cwd: '/', timeoutMs: 240_000 });
    expect(version.stdout).toMatch(/^baton \d+\.\d+\.\d+\n$/);
  }
});

test('when its reader has gone it does not say that all went well', async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-pipe-'));
  const script = 'exec 3> >(true); wait $!; "$0" --help >&3; echo $?'; // the reader has ended before it writes
  const { stdout } = await run('bash', ['-c', script, launcher], { timeoutMs: 240_000 });
  expect(stdout).toBe('141\n');
});
