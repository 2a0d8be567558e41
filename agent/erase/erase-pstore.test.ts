import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { erasePstore } from '#agent/erase/erase-pstore.ts';
import { ranWell } from '#agent/testing/fake-services.ts';

test('removes every record', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-pstore-'));
  await writeFile(join(folder, 'dmesg-efi-2'), 'secret');
  await writeFile(join(folder, 'dmesg-efi-1'), 'secret');
  await mkdir(join(folder, 'folder'));
  expect(await erasePstore(() => Promise.resolve(ranWell()), folder)).toEqual(['dmesg-efi-1', 'dmesg-efi-2']);
  expect(await readdir(folder)).toEqual(['folder']);
  await rm(folder, { recursive: true });
});
