import { expect, test } from 'vitest';
import { findEspsWithLoader, findSpreadEsp, spreadEsp } from '#agent/boot/spread-esp.ts';
import { raidMachine } from '#agent/raid/testing/raid-machine.ts';
import type { BlockDevice, ProbedPartition } from '#agent/storage/lsblk.ts';
import { AppError } from '#shared/errors/app-error.ts';

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

test('all EFI system partitions with a loader count, and one that can not be read is no reason to fail', async () => {
  const named = (number: number, fsType: string | null) =>
    ({ name: `/dev/md0p${number}`, number, fsType }) as ProbedPartition;
  const look =
    (failures: Readonly<Record<string, 'not_found' | 'command_failed'>>) =>
    (device: string): Promise<string> => {
      const code = failures[device];
      return code === undefined ? Promise.resolve('shim') : Promise.reject(new AppError(code, `${device}: ${code}`));
    };
  const esps = [named(1, 'vfat'), named(3, 'vfat')] as const;
  const [first, second] = esps.map((esp) => ({ esp, on: 'shim' }));
  expect(await findEspsWithLoader(esps, look({}))).toMatchObject({ found: [first, second], warnings: [] });
  const one = await findEspsWithLoader(esps, look({ '/dev/md0p1': 'not_found' }));
  expect(one).toMatchObject({ found: [second], warnings: [] });
  // again: the right one has lost its place, the other must not take that of the spread files
  expect(await findEspsWithLoader([esps[0]], look({ '/dev/md0p1': 'not_found' }))).toMatchObject({
    found: [],
    without: { message: '/dev/md0p1: not_found' },
  });
  expect(await findEspsWithLoader(esps, look({ '/dev/md0p3': 'command_failed' }))).toMatchObject({
    found: [first],
    warnings: ['an EFI system partition could not be looked into: /dev/md0p3: command_failed'],
  });
  const none = findEspsWithLoader(esps, look({ '/dev/md0p1': 'not_found', '/dev/md0p3': 'command_failed' }));
  await expect(none).rejects.toThrow('/dev/md0p3: command_failed');
});

test('another mirror of the same format is not that of the EFI system partitions', async () => {
  const machine = raidMachine(['/dev/vda', '/dev/vdb']);
  const partition = (number: number, type: string) => ({
    number,
    startBytes: number,
    sizeBytes: 1024,
    type,
    name: null,
  });
  const linux = '0fc63daf-8483-4772-8e79-3d69d8477de4';
  const esp = 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b';
  for (const disk of ['/dev/vda', '/dev/vdb']) {
    machine.tables.set(disk, { label: 'gpt', partitions: [partition(1, linux), partition(2, esp), partition(3, esp)] });
  }
  const state = { active: true, level: 'raid1', size: 2, working: 2, uuid: null, name: null, metadata: '1.0' };
  const mirror = (device: string, number: number) => ({
    device,
    members: [`/dev/vda${number}`, `/dev/vdb${number}`],
    ...state,
  });
  const disks = [{ name: '/dev/vda' }, { name: '/dev/vdb' }];
  machine.arrays = [mirror('/dev/md0', 1), mirror('/dev/md1', 2)];
  expect(await findSpreadEsp(machine.run, disks)).toBe('/dev/md1');
  machine.arrays = [mirror('/dev/md0', 1)];
  expect(await findSpreadEsp(machine.run, disks)).toBeUndefined();
  machine.arrays = [mirror('/dev/md1', 2), mirror('/dev/md2', 3)];
  await expect(findSpreadEsp(machine.run, disks)).rejects.toThrow('/dev/md1, /dev/md2: which one');
});
