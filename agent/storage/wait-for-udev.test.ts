import { expect, test } from 'vitest';
import { rereadPartitions, waitForUdev } from '#agent/storage/wait-for-udev.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

const ranWell = { stdout: '', stderr: '', exitCode: 0, durationMs: 1 };

/** Records the commands; the first `busy` calls of blockdev fail. */
function recorder(busy: number): { readonly run: Run; readonly commands: string[] } {
  const commands: string[] = [];
  let failures = busy;
  const run: Run = async (command, args) => {
    commands.push([command, ...args].join(' '));
    if (command === 'blockdev' && failures > 0) {
      failures -= 1;
      throw new AppError('command_failed', 'blockdev exited with 1: Device or resource busy');
    }
    return ranWell;
  };
  return { run, commands };
}

test('udev is waited for before and after', async () => {
  const { run, commands } = recorder(0);
  await rereadPartitions(run, '/dev/vda');
  expect(commands).toEqual([
    'udevadm settle --timeout=30',
    'blockdev --rereadpt /dev/vda',
    'partx --update /dev/vda',
    'udevadm settle --timeout=30',
  ]);
});

test('a disk that udev holds is tried again', async () => {
  const { run, commands } = recorder(2);
  await rereadPartitions(run, '/dev/vda');
  expect(commands.filter((command) => command.startsWith('blockdev'))).toHaveLength(3);
});

test('a disk that stays busy fails', async () => {
  await expect(rereadPartitions(recorder(100).run, '/dev/vda')).rejects.toThrow(/partition table of \/dev\/vda again/);
});

test('without udev there is nothing to wait for', async () => {
  const cause = Object.assign(new Error('spawn udevadm ENOENT'), { code: 'ENOENT' });
  const missing: Run = () => Promise.reject(new AppError('command_failed', 'udevadm could not be started', { cause }));
  await expect(waitForUdev(missing)).resolves.toBeUndefined();
  const failing: Run = () => Promise.reject(new AppError('timeout', 'udevadm took longer'));
  await expect(waitForUdev(failing)).rejects.toThrow(/wait for udev/);
});
