import { chmod, cp, mkdir, mkdtemp, readFile, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildBundles } from '#conductor/bundle/build-bundles.ts';
import { run } from '#shared/process/run.ts';

const repository = join(import.meta.dirname, '../..');
const buildsMs = 300_000;

let clone = '';
beforeEach(async () => {
  clone = await mkdtemp(join(tmpdir(), 'baton-clone-'));
});
afterEach(() => rm(clone, { recursive: true }));

const baton = () =>
  run(join(clone, 'conductor/cli/baton'), ['--version'], { okExitCodes: [0, 2], timeoutMs: buildsMs });
const conductor = (env: Readonly<Record<string, string>>) =>
  run(join(clone, 'conductor/start/conductor'), [], { env, okExitCodes: [2] });

async function copySources(): Promise<void> {
  for (const name of ['conductor', 'shared', 'package.json', 'tsconfig.json']) {
    await cp(join(repository, name), join(clone, name), { recursive: true });
  }
}

/** A Node.js that says so of itself, and does nothing. */
async function fakeNode(path: string, version: string): Promise<void> {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `#!/bin/sh\necho ${version}\n`);
  await chmod(path, 0o755);
}

test('a bundle that is older than a source does not run: another is made, or none runs', {
  timeout: buildsMs,
}, async () => {
  await copySources();
  await symlink(join(repository, 'node_modules'), join(clone, 'node_modules'));
  expect((await baton()).stdout).toMatch(/^baton \d/);
  const bundle = join(clone, 'build/bundle/baton.cjs');
  const { mtimeMs: builtAt } = await stat(bundle);
  await baton();
  expect((await stat(bundle)).mtimeMs, 'made once').toBe(builtAt);

  const source = join(clone, 'conductor/cli/commands.ts');
  const text = await readFile(source, 'utf8');
  await writeFile(source, text.replace('`baton ${version}', '`changed ${version}'));
  expect((await baton()).stdout).toMatch(/^changed \d/);

  // as tar, rsync and cp --preserve leave a file: older than the bundle that was made from what it replaces
  await writeFile(source, text.replace('`baton ${version}', '`restored ${version}'));
  await utimes(source, new Date(0), new Date(0));
  const several = await Promise.all([baton(), baton(), baton()]);
  for (const { stdout } of several) expect(stdout).toMatch(/^restored \d/);

  // a container's image, a backup: the same sources, all of them newer
  const copy = join(clone, 'copy');
  for (const name of ['conductor', 'shared', 'package.json', 'tsconfig.json', 'node_modules', 'build'])
    await cp(join(clone, name), join(copy, name), { recursive: true, preserveTimestamps: true });
  const copied = join(copy, 'build/bundle/baton.cjs');
  await utimes(copied, new Date(0), new Date(0));
  expect((await run(join(copy, 'conductor/cli/baton'), ['--version'])).stdout).toMatch(/^restored \d/);
  expect((await stat(copied)).mtimeMs, 'not made again').toBe(0);

  await writeFile(source, `${text} const = 1;`);
  const broken = await baton();
  expect(broken).toMatchObject({ exitCode: 2, stdout: '' });
  expect(broken.stderr).toContain('cli/commands.ts');
  expect(broken.stderr).toContain('npm run build');
});

test('a Node.js that is too old is named in one line', async () => {
  await copySources();
  const tools = join(clone, 'tools');
  await fakeNode(join(tools, 'node'), 'v22.3.0');
  await mkdir(join(clone, 'node_modules'));
  const system = await conductor({ PATH: `${tools}:/usr/bin:/bin` });
  expect(system.stderr).toBe(
    `conductor: needs Node.js 24 or newer, and ${tools}/node is v22.3.0: npm ci in ${clone} brings its own\n`,
  );
  // one that an older lockfile brought
  const own = join(clone, 'node_modules/.bin/node');
  await fakeNode(own, 'v8.17.0');
  expect((await conductor({})).stderr).toBe(
    `conductor: needs Node.js 24 or newer, and ${own} is v8.17.0: npm ci in ${clone} brings its own\n`,
  );
});

test('so is one that runs a bundle without the launcher', { timeout: buildsMs }, async () => {
  await buildBundles(clone);
  const older = join(clone, 'older.cjs');
  await writeFile(older, "Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } });");
  for (const name of ['conductor', 'baton']) {
    const { stderr } = await run(process.execPath, ['--require', older, join(clone, `${name}.cjs`)], {
      okExitCodes: [2],
    });
    expect(stderr).toBe(
      'baton: needs Node.js 24 or newer, this is 20.20.2: conductor/start/conductor and conductor/cli/baton take the one that npm ci brings\n',
    );
  }
});

test('without packages it says what brings them', async () => {
  await copySources();
  expect((await conductor({})).stderr).toBe(
    `conductor: ${clone}/node_modules is not there: npm ci in ${clone} makes it\n`,
  );
});
