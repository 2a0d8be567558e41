import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { placeFile, removeFile } from '#agent/inject/inject-files.ts';
import { resolveInside } from '#agent/inject/resolve-inside.ts';

let outside: string;
/** Stands for a mounted file system; beside it is what must not be reached. */
let root: string;

beforeEach(async () => {
  outside = await mkdtemp(join(tmpdir(), 'baton-inject-'));
  root = join(outside, 'root');
  await mkdir(join(root, 'etc'), { recursive: true });
});
afterEach(() => rm(outside, { recursive: true }));

const place = (path: string, more: object = {}) => placeFile(root, { path, ...more }, Buffer.from('new'));

describe('links', () => {
  test.each([
    ['an absolute one is of the image', '/run/conf', 'run/conf/x'],
    ['a relative one too', '../run/conf', 'run/conf/x'],
    ['one into itself', 'other/../other2', 'etc/other2/x'],
  ])('%s', async (_name, target, expected) => {
    await symlink(target, join(root, 'etc/link'));
    expect(await resolveInside(root, '/etc/link/x')).toBe(join(root, expected));
    await place('/etc/link/x');
    expect(await readFile(join(root, expected), 'utf8')).toBe('new');
  });

  test('none leads out', async () => {
    await symlink('../../victim', join(root, 'etc/link'));
    await writeFile(join(outside, 'victim'), 'old');
    await expect(place('/etc/link')).rejects.toThrow('leads out of its file system');
    await expect(place('/etc/link/x')).rejects.toThrow('leads out of its file system');
    await symlink(join(outside, 'victim'), join(root, 'etc/absolute'));
    await place('/etc/absolute');
    expect(await readFile(join(outside, 'victim'), 'utf8')).toBe('old');
    expect(await readFile(join(root, outside, 'victim'), 'utf8')).toBe('new');
  });

  test('in a circle', async () => {
    await symlink('b', join(root, 'etc/a'));
    await symlink('a', join(root, 'etc/b'));
    await expect(place('/etc/a')).rejects.toThrow('lead in a circle');
  });
});

test('makes folders and sets modes, whatever the umask', async () => {
  await place('/etc/new/deep/file', { mode: 0o777, dirmode: 0o711 });
  expect((await stat(join(root, 'etc/new/deep/file'))).mode & 0o7777).toBe(0o777);
  expect((await stat(join(root, 'etc/new/deep'))).mode & 0o7777).toBe(0o711);
});

test('replaces what is there, and leaves its folder as it is', async () => {
  await writeFile(join(root, 'etc/file'), 'much longer than before', { mode: 0o600 });
  const before = (await stat(join(root, 'etc'))).mode;
  await place('/etc/file', { dirmode: 0o700 });
  expect(await readFile(join(root, 'etc/file'), 'utf8')).toBe('new');
  expect((await stat(join(root, 'etc/file'))).mode & 0o777).toBe(0o600);
  expect((await stat(join(root, 'etc'))).mode).toBe(before);
});

test('a folder of that name, and a file where a folder is needed', async () => {
  await expect(place('/etc')).rejects.toThrow('/etc is a folder there');
  await writeFile(join(root, 'etc/file'), '');
  await expect(place('/etc/file/x')).rejects.toThrow('write /etc/file/x');
});

describe('removing', () => {
  test('a file, and again', async () => {
    await writeFile(join(root, 'etc/file'), '');
    await removeFile(root, '/etc/file');
    await removeFile(root, '/etc/file');
    await removeFile(root, '/none/there');
    await expect(stat(join(root, 'etc/file'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('a link, not what it leads to', async () => {
    await writeFile(join(root, 'etc/file'), '');
    await symlink('file', join(root, 'etc/link'));
    await removeFile(root, '/etc/link');
    expect((await stat(join(root, 'etc/file'))).isFile()).toBe(true);
  });

  test('never outside', async () => {
    await writeFile(join(outside, 'victim'), 'old');
    await symlink('../..', join(root, 'etc/up'));
    await expect(removeFile(root, '/etc/up/victim')).rejects.toThrow('leads out of its file system');
    expect(await readFile(join(outside, 'victim'), 'utf8')).toBe('old');
  });
});
