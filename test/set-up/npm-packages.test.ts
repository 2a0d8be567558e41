import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '#shared/process/run.ts';

let clone: string;
beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), 'clone-'));
  const program = (text: string) => ({ text: `#!/bin/sh\n${text}\n`, mode: 0o755 });
  const files = {
    'programs/npm': program(`echo "$@" >>${join(clone, 'asked')}`),
    'programs/id': program('echo 0'), // these parts of it need no root
    'package-lock.json': { text: JSON.stringify({ packages: locked }), mode: 0o644 },
  };
  for (const [name, { text, mode }] of Object.entries(files)) {
    await mkdir(dirname(join(clone, name)), { recursive: true });
    await writeFile(join(clone, name), text, { mode });
  }
  await mkdir(join(clone, 'test/set-up'), { recursive: true });
  await mkdir(join(clone, 'node_modules'));
  await copyFile('test/set-up/set-up.sh', join(clone, 'test/set-up/set-up.sh'));
});
afterEach(() => rm(clone, { recursive: true }));

const one = { 'node_modules/one': { integrity: 'sha512-1' } };
const locked = {
  '': { name: 'baton' },
  ...one,
  'node_modules/two': { integrity: 'sha512-2', dev: true },
  'node_modules/other-cpu': { integrity: 'sha512-3', optional: true },
};

/** Finds what the set-up asks npm for, where npm has noted that it has installed these. */
async function askedFor(installed: object | undefined): Promise<string> {
  if (installed) {
    await writeFile(join(clone, 'node_modules/.package-lock.json'), JSON.stringify({ packages: installed }));
  }
  const env = { PATH: `${join(clone, 'programs')}:${process.env['PATH']}` };
  for (const _ of [1, 2]) await run('bash', [join(clone, 'test/set-up/set-up.sh'), 'npm'], { env });
  return readFile(join(clone, 'asked'), 'utf8').catch(() => '');
}

const all = { ...one, 'node_modules/two': { integrity: 'sha512-2', dev: true } };
test.each([
  ['nothing', undefined, 'ci --no-progress\n'],
  ['all that this machine needs', all, ''],
  ['no development packages', one, 'ci --no-progress\n'],
  ['an older version', { ...all, 'node_modules/two': { integrity: 'sha512-0' } }, 'ci --no-progress\n'],
])('where npm ci has installed %s', async (_, installed, asked) => {
  expect(await askedFor(installed)).toBe(asked);
});
