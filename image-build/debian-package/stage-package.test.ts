import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readConfig } from '#conductor/start/config.ts';
import { Environment } from '#conductor/start/environment.ts';
import { settingsFile } from '#image-build/debian-package/stage-package.ts';

const lines = settingsFile().split('\n');

test('every setting stands in it once', () => {
  const named = lines.flatMap((line) => /^#?([A-Z0-9_]+)=/.exec(line)?.[1] ?? []);
  expect(named).toEqual(Object.keys(Environment.shape));
});

test('a conductor starts with it: callers need a token, and data are where the package has them', () => {
  const set = lines.filter((line) => /^[A-Z]/.test(line)).map((line) => line.split('=') as [string, string]);
  expect(readConfig(Object.fromEntries(set))).toMatchObject({
    auth: { method: 'token', adminTokenFile: '/var/lib/baton/admin-token' },
    dataDirectory: '/var/lib/baton',
    ramdiskDirectory: '/usr/lib/baton/ramdisk',
    imagesDirectory: '/var/lib/baton/images',
  });
});

test('what is commented out is a default: taking the comment away changes nothing', () => {
  const withValue = lines.filter((line) => /^#?[A-Z_]+=./.test(line)).map((line) => line.replace('#', ''));
  const set = lines.filter((line) => /^[A-Z]/.test(line));
  const read = (text: readonly string[]) => {
    const { settings, ...config } = readConfig(Object.fromEntries(text.map((line) => line.split(/=(.*)/))));
    return { ...config, settings: settings.map((setting) => ({ ...setting, from: undefined })) };
  };
  expect(read(withValue)).toEqual(read(set));
});

test('by its unit, in the image, from a clone and in the demo a conductor is given the same limits of memory', async () => {
  const starts = [
    'image-build/debian-package/baton.service',
    'image-build/oci-image/build-oci-image.ts',
    'conductor/start/conductor',
    'test/demo/conductor.ts',
  ];
  for (const path of starts) {
    const text = await readFile(join(import.meta.dirname, '../..', path), 'utf8');
    expect([
      path,
      text.match(/--max-semi-space-size=\d+|--heap-growing-percent=\d+|MALLOC_MMAP_THRESHOLD_=\d+/g)?.sort(),
    ]).toEqual([path, ['--heap-growing-percent=30', '--max-semi-space-size=4', 'MALLOC_MMAP_THRESHOLD_=131072']]);
  }
});

test('its unit has an end to memory and descriptors, and to what it may ask of the kernel', async () => {
  const unit = await readFile(join(import.meta.dirname, 'baton.service'), 'utf8');
  for (const line of ['MemoryMax=4G', 'LimitNOFILE=65536', 'SystemCallFilter=@system-service', 'NoNewPrivileges=yes'])
    expect(unit.split('\n')).toContain(line);
});
