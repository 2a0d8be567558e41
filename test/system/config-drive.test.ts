import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { buildConfigDrive, checkConfigDrive } from '#conductor/boot/config-drive.ts';
import { type Run, run } from '#shared/process/run.ts';

/** Builds config drives with the real xorrisofs (Debian: xorriso) and reads them back with xorriso's extraction. */

const node = { uuid: '7d2f7c4e-0000-4000-8000-000000000001', name: 'n1', instanceUuid: null };
const documents = {
  meta_data: { hostname: 'böse-maschine', public_keys: { default: 'ssh-ed25519 AAAA' } },
  network_data: { links: [], networks: [], services: [] },
  user_data: '#cloud-config\nruncmd: [echo, "$HOME", "ü"]\n',
  vendor_data: { cloud: 'baton' },
};

test('what was put in comes out of an ISO labelled config-2, by Rock Ridge and by Joliet', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-config-drive-test-'));
  try {
    const image = join(folder, 'drive.iso');
    await writeFile(
      image,
      gunzipSync(Buffer.from(await buildConfigDrive({ configDrive: documents, node, run }), 'base64')),
    );
    // Linux reads Rock Ridge names, Windows Joliet ones
    for (const readAs of ['nojoliet', 'norock']) {
      const target = join(folder, readAs);
      await run('xorriso', ['-read_fs', readAs, '-osirrox', 'on', '-indev', image, '-extract', '/', target]);
      const read = (name: string) => readFile(join(target, 'openstack/latest', name), 'utf8');
      const metaData = { uuid: node.uuid, name: 'n1', ...documents.meta_data };
      expect(JSON.parse(await read('meta_data.json'))).toEqual(metaData);
      expect(JSON.parse(await read('network_data.json'))).toEqual(documents.network_data);
      expect(await read('user_data')).toBe(documents.user_data);
      expect(JSON.parse(await read('vendor_data.json'))).toEqual(documents.vendor_data);
    }
    const { stdout } = await run('blkid', ['--probe', '--output', 'export', image]);
    expect(stdout).toContain('LABEL=config-2');
    expect(stdout).toContain('TYPE=iso9660');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test('is a config drive by its own check, and the same bytes each time', async () => {
  const first = await buildConfigDrive({ configDrive: documents, node, run });
  // ISO 9660 counts time in hundredths, Rock Ridge in seconds: a later build must not show
  const second = () => Math.floor(Date.now() / 1000);
  const made = second();
  await expect.poll(second).toBeGreaterThan(made);
  const later = await buildConfigDrive({ configDrive: documents, node, run: (...given) => run(...given) });
  expect(later).toBe(first);
  expect(await checkConfigDrive(first)).toBe(first);
});

test('of many nodes xorrisofs is started once, and each has its own documents', async () => {
  const commands: string[] = [];
  const counting: Run = (command, args, options) => {
    commands.push(command);
    return run(command, args, options);
  };
  const build = (name: string, userData = '#!/bin/sh') => {
    const configDrive = { meta_data: { name }, user_data: userData };
    return buildConfigDrive({ configDrive, node: { ...node, name }, run: counting });
  };
  const names = ['a', 'a-much-longer-name', 'böse'];
  const images = await Promise.all(names.map((name) => build(name)));
  expect(commands).toEqual(['xorrisofs']);
  for (const [index, image] of images.entries()) {
    const text = gunzipSync(Buffer.from(image, 'base64')).toString('utf8');
    for (const name of names) expect(text.includes(`"name":"${name}"`)).toBe(name === names[index]);
    expect(await checkConfigDrive(image)).toBe(image);
    // alone, from the beginning
    const configDrive = { meta_data: { name: names[index] }, user_data: '#!/bin/sh' };
    const alone: Run = (...given) => run(...given);
    const again = await buildConfigDrive({ configDrive, node: { ...node, name: names[index] ?? '' }, run: alone });
    expect(again).toBe(image);
  }
  await build('other', '#!/bin/bash');
  expect(commands).toHaveLength(2);
});
