import { expect, test } from 'vitest';
import { injectFiles } from '#agent/inject/inject-files.ts';
import { fakeServices, ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

test('the arrays of a node that lives on RAID are there before its disk is chosen', async () => {
  const commands: string[] = [];
  const run: Run = (command) => {
    commands.push(command);
    return command === 'lsblk'
      ? Promise.reject(new AppError('command_failed', 'this machine has no disks'))
      : Promise.resolve(ranWell());
  };
  const { clock, log, signal, writtenImage } = fakeServices();
  const raidConfig = { logical_disks: [{ controller: 'software' }] };
  const node = { uuid: 'n', properties: {}, instance_info: {}, driver_internal_info: {}, raid_config: raidConfig };
  const context = { run, clock, log, signal, node, reportProgress: () => undefined, writtenImage };
  await expect(injectFiles(context, [{ path: '/etc/x', content: '' }], true)).rejects.toThrow('no disks');
  expect(commands).toContain('mdadm');
  expect(commands.indexOf('mdadm')).toBeLessThan(commands.indexOf('lsblk'));
});

test.each([[{ name: '/dev/sdb' }], [{ name: '/dev/md0' }]])(
  'neither a disk protected by %j nor what stands on it or below it is written to',
  async (entry) => {
    const volume = { name: 'md0', path: '/dev/md0', type: 'raid1', size: 20 };
    const member = { name: 'sdb', path: '/dev/sdb', type: 'disk', size: 30, children: [volume] };
    const target = { name: 'sda', path: '/dev/sda', type: 'disk', size: 10 * 1024 ** 3 };
    const run: Run = (command) =>
      Promise.resolve(ranWell(command === 'lsblk' ? JSON.stringify({ blockdevices: [target, member, volume] }) : ''));
    const { clock, log, signal } = fakeServices();
    const properties = { skip_block_devices: [entry], root_device: { name: '/dev/sda' } };
    const node = { uuid: 'n', properties, instance_info: {}, driver_internal_info: {} };
    const writtenImage = { current: undefined };
    const context = { run, clock, log, signal, node, reportProgress: () => undefined, writtenImage };
    for (const partition of ['/dev/sdb', '/dev/md0']) {
      await expect(injectFiles(context, [{ path: '/etc/x', content: '', partition }], true)).rejects.toMatchObject({
        cause: expect.objectContaining({ message: expect.stringContaining(`no partition ${partition}`) as unknown }),
      });
    }
  },
);
