import { expect, test } from 'vitest';
import { spreadEsp } from '#agent/boot/spread-esp.ts';
import { raidMachine } from '#agent/raid/testing/raid-machine.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';

test('a degraded array with the only copy of the files stays when the image has none', async () => {
  const machine = raidMachine(['/dev/vda', '/dev/vdb']);
  const type = 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b';
  const partition = { number: 2, startBytes: 1024 ** 2, sizeBytes: 550 * 1024 ** 2, type, name: 'uefi-holder' };
  for (const disk of ['/dev/vda', '/dev/vdb']) machine.tables.set(disk, { label: 'gpt', partitions: [partition] });
  const members = ['/dev/vda2', '/dev/vdb2'];
  const state = { active: true, level: 'raid1', size: 2, working: 1, uuid: null, name: 'esp', metadata: '1.0' };
  machine.arrays = [{ device: '/dev/md127', members, ...state }];
  const disks = ['/dev/vda', '/dev/vdb'].map((name) => ({ name }) as BlockDevice);
  await expect(spreadEsp(machine.run, disks, undefined)).rejects.toThrow('the image has no EFI system partition');
  expect(machine.changes).toEqual([]);
  expect(machine.arrays).toHaveLength(1);
});
