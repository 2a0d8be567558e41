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
