import { access } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { withMounted } from '#agent/storage/mount.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

function mounts(failing: readonly string[] = []) {
  const seen: string[] = [];
  const run: Run = async (command, args) => {
    seen.push([command, ...args.slice(0, -1)].join(' '));
    if (failing.includes(command)) throw new AppError('command_failed', `${command} failed`);
    return { stdout: '', stderr: '', exitCode: 0, durationMs: 1 };
  };
  return { run, seen };
}
const how = { type: 'vfat', options: ['ro', 'nodev'] };

test('mounted while it is used, and gone afterwards', async () => {
  const { run, seen } = mounts();
  let folder = '';
  expect(
    await withMounted(run, '/dev/vda1', how, async (given) => {
      folder = given;
      return 'done';
    }),
  ).toBe('done');
  expect(seen).toEqual(['mount -t vfat -o ro,nodev /dev/vda1', 'umount --recursive']);
  await expect(access(folder)).rejects.toMatchObject({ code: 'ENOENT' });
});

test('unmounted after a failure, which is the one told', async () => {
  const { run, seen } = mounts();
  const failure = new AppError('not_found', 'nothing there');
  await expect(withMounted(run, '/dev/vda1', how, () => Promise.reject(failure))).rejects.toBe(failure);
  expect(seen.at(-1)).toBe('umount --recursive');
});

test('what can not be mounted is not unmounted; what can not be unmounted is told', async () => {
  const broken = mounts(['mount']);
  await expect(withMounted(broken.run, '/dev/vda1', how, () => Promise.resolve())).rejects.toThrow('mount /dev/vda1');
  expect(broken.seen).toHaveLength(1);
  await expect(withMounted(mounts(['umount']).run, '/dev/vda1', how, () => Promise.resolve())).rejects.toThrow(
    'unmount /dev/vda1',
  );
});
