import { mkdir, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mountedIn, mountsFolder, unmountLeftovers } from '#agent/storage/file-systems/mount.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';

const line = (id: number, point: string): string => `${id} 1 8:2 / ${point} rw,relatime - ext4 /dev/sda2 rw\n`;

test("the agent's own, the last first, and not what is below them", () => {
  const info = [
    line(20, '/'),
    line(21, '/tmp'),
    line(22, '/tmp/baton-mounts/mount-a'),
    line(23, '/tmp/baton-mounts/mount-a/dev'),
    line(24, '/tmp/baton-mounts/mount-a/boot/efi'),
    line(25, '/tmp/baton-mounts/mount-b'),
    line(26, '/tmp/baton-mounts-of-others/x'),
  ].join('');
  expect(mountedIn(info, '/tmp/baton-mounts')).toEqual(['/tmp/baton-mounts/mount-b', '/tmp/baton-mounts/mount-a']);
  expect(mountedIn('', '/tmp/baton-mounts')).toEqual([]);
});

test('all are tried, and a stuck one does not keep the agent from starting', async () => {
  await mkdir(mountsFolder, { recursive: true });
  const stuck = join(mountsFolder, 'stuck');
  const free = await mkdtemp(join(mountsFolder, 'free-'));
  const commands: string[] = [];
  const run: Run = (command, args) => {
    commands.push([command, ...args].join(' '));
    if (args.includes(stuck)) return Promise.reject(new AppError('command_failed', 'target is busy'));
    return Promise.resolve(ranWell());
  };
  await unmountLeftovers(run, line(1, free) + line(2, stuck), silentLog, createInstantClock());
  expect(new Set(commands)).toEqual(new Set([`umount --recursive ${stuck}`, `umount --recursive ${free}`]));
  expect(commands.at(-1)).toBe(`umount --recursive ${free}`);
});
