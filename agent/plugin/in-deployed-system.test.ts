import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lendResolver } from '#agent/plugin/in-deployed-system.ts';

let root = '';
let resolver = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'baton-resolver-'));
  await mkdir(join(root, 'etc'));
  await mkdir(join(root, 'run'));
  resolver = join(root, 'servers');
  await writeFile(resolver, 'nameserver 10.0.0.1\n');
});
afterEach(() => rm(root, { recursive: true }));

const conf = () => join(root, 'etc/resolv.conf');

test.each(['../run/systemd/resolve/stub-resolv.conf', '/run/resolv.conf'])(
  'a link to %s leads to the servers',
  async (link) => {
    await symlink(link, conf());
    await lendResolver(root, resolver);
    expect(await readFile(join(root, link.replace('../', '')), 'utf8')).toBe('nameserver 10.0.0.1\n');
  },
);

test('a file of its own stays, a system without one gets none, and without servers there is nothing to lend', async () => {
  await lendResolver(root, resolver);
  expect(await readdir(join(root, 'etc'))).toEqual([]);
  await writeFile(conf(), 'nameserver 192.0.2.1\n');
  await lendResolver(root, resolver);
  expect(await readFile(conf(), 'utf8')).toBe('nameserver 192.0.2.1\n');
  await rm(conf());
  await symlink('/run/resolv.conf', conf());
  await lendResolver(root, join(root, 'nowhere'));
  expect(await readdir(join(root, 'run'))).toEqual([]);
});
