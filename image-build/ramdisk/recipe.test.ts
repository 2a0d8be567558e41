import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { paths } from '#image-build/build-context.ts';
import { filesBelow } from '#image-build/files.ts';
import { moduleExceptions, modulePaths, packages, programs } from '#image-build/ramdisk/recipe.ts';

/** Applets of busybox that stand in for a program; `busybox --list` of Debian 12 has them. */
const fromBusybox = [
  'cat',
  'chroot',
  'cp',
  'date',
  'dd',
  'hostname',
  'mkdir',
  'poweroff',
  'reboot',
  'rm',
  'sh',
  'sync',
  'tar',
];

test('every program that the agent starts is in the ramdisk', async () => {
  const sources = (await filesBelow(join(paths.repository, 'agent'))).filter((file) => /(?<!\.test)\.ts$/.test(file));
  const started = new Set<string>();
  for (const file of sources) {
    const text = await readFile(file, 'utf8');
    for (const [, name] of text.matchAll(/\b(?:run|start)\(\s*'([a-z0-9._-]+)'/g)) started.add(name ?? '');
  }
  expect(started.size).toBeGreaterThan(3);
  expect([...started].filter((name) => !programs.includes(name) && !fromBusybox.includes(name))).toEqual([]);
});

test('lists are without doubles, and no exception names a module that is asked for by file', () => {
  for (const list of [packages, programs, modulePaths]) expect(new Set(list).size).toBe(list.length);
  const files = modulePaths.filter((path) => path.endsWith('.ko'));
  expect(files.filter((path) => moduleExceptions.some((exception) => exception.test(path)))).toEqual([]);
});
