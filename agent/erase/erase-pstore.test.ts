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
  const variables = join(folder, 'none');
  const removed = await erasePstore(() => Promise.resolve(ranWell()), { root: folder, variables });
  expect(removed).toEqual(['dmesg-efi-1', 'dmesg-efi-2']);
  expect(await readdir(folder)).toEqual(['folder']);
  await rm(folder, { recursive: true });
});

test("crash dumps among the firmware's variables, and no other variable", async () => {
  const [root, variables] = [
    await mkdtemp(join(tmpdir(), 'baton-pstore-')),
    await mkdtemp(join(tmpdir(), 'baton-efi-')),
  ];
  const dump = 'dump-type0-1-1-1795248000-C-cfc8fc79-be2e-4ddc-97f0-9f98bfe282a0';
  const boot = 'Boot0000-8be4df61-93ca-11d2-aa0d-00e098032b8c';
  for (const name of [dump, boot]) await writeFile(join(variables, name), 'x');
  expect(await erasePstore(() => Promise.resolve(ranWell()), { root, variables })).toEqual([dump]);
  expect(await readdir(variables)).toEqual([boot]);
  for (const folder of [root, variables]) await rm(folder, { recursive: true });
});
