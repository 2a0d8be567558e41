import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { paths } from '#image-build/build-context.ts';
import { licensesText } from '#image-build/ramdisk/licenses.ts';
import { run } from '#shared/process/run.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-licenses-'));
});
afterEach(() => rm(directory, { recursive: true }));

async function put(path: string, text: string): Promise<void> {
  await mkdir(join(directory, path, '..'), { recursive: true });
  await writeFile(join(directory, path), text);
}

test('every package has its text, equal ones once', async () => {
  await put('npm/hono/package.json', JSON.stringify({ name: 'hono', version: '4.0.0', license: 'MIT' }));
  await put('npm/hono/LICENSE', 'MIT of hono');
  await put('npm/bare/package.json', JSON.stringify({ name: '@x/bare', version: '1.0.0', license: 'ISC' }));
  await put('tree/usr/share/doc/mdadm/copyright', 'GPL of mdadm');
  await put('tree/usr/share/doc/libx1/copyright', 'LGPL of x');
  await put('tree/usr/share/doc/libx2/copyright', 'LGPL of x\n');
  await put('tree/usr/share/doc/nothing/README', 'no licence here');
  await put('common/GPL-2', 'the GPL');
  const text = await licensesText({
    npmPackages: [join(directory, 'npm/bare'), join(directory, 'npm/hono')],
    tree: join(directory, 'tree'),
    common: join(directory, 'common'),
  });
  const rule = '='.repeat(80);
  expect(text).toContain('Node.js is licensed for use as follows');
  expect(text).toContain(`npm package hono 4.0.0\n${rule}\n\nMIT of hono\n`);
  expect(text).toContain('npm package @x/bare 1.0.0');
  expect(text).toContain('License: ISC (the package holds no text of it)');
  expect(text).toContain(`Debian package libx1\nDebian package libx2\n${rule}\n\nLGPL of x\n`);
  expect(text).toContain('GPL of mdadm');
  expect(text).toContain('/usr/share/common-licenses/GPL-2');
  expect(text).not.toContain('package nothing');
});

test('the licence of Node is that of the Node that ships', async () => {
  const { stdout } = await run(paths.nodeBinary, ['--version']);
  expect(stdout).toMatch(/^v24\./);
});
