import { access, rm, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withMounted } from '#agent/storage/file-systems/mount.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type Run, run as runProcess } from '#shared/process/run.ts';

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
  const busy = mounts(['umount']);
  const clock = createInstantClock();
  const left: string[] = [];
  const use = (folder: string): Promise<unknown> => Promise.resolve(left.push(folder));
  await expect(withMounted(busy.run, '/dev/vda1', how, use, clock)).rejects.toMatchObject({
    code: 'storage_error',
    message: 'unmount /dev/vda1',
  });
  // tried several times; its folder stays, and does not hide the failure (a mounted one can't be removed)
  expect(busy.seen.filter((each) => each.startsWith('umount'))).toHaveLength(5);
  expect(clock.sleeps).toHaveLength(4);
  await rmdir(left[0] ?? '');
});

test('a folder that can not be emptied does not replace the failure to unmount', async () => {
  const { run } = mounts(['umount']);
  const left: string[] = [];
  const use = (folder: string): Promise<void> => {
    left.push(folder);
    return writeFile(join(folder, 'still-mounted'), '');
  };
  await expect(withMounted(run, '/dev/vda1', how, use, createInstantClock())).rejects.toThrow(/^unmount \/dev\/vda1$/);
  await rm(left[0] ?? '', { recursive: true });
});

test('one that is busy for a moment is unmounted in the end', async () => {
  const { run } = mounts();
  const left = { tries: 2 };
  const busy: Run = (command, args) =>
    command === 'umount' && left.tries-- > 0
      ? Promise.reject(new AppError('command_failed', 'target is busy'))
      : run(command, args);
  expect(await withMounted(busy, '/dev/vda1', how, () => Promise.resolve('done'), createInstantClock())).toBe('done');
});

test('after a stop of the agent too', async () => {
  const stop = new AbortController();
  const ended: string[] = [];
  // programs that do nothing, under the signal that all of the agent's have
  const stoppable: Run = async (command, _args, options) => {
    const result = await runProcess('true', [], { signal: stop.signal, ...options });
    ended.push(command);
    return result;
  };
  const use = async (): Promise<void> => {
    stop.abort();
    await stoppable('never', []);
  };
  await expect(withMounted(stoppable, '/dev/vda1', how, use, createInstantClock())).rejects.toMatchObject({
    code: 'aborted',
  });
  expect(ended).toEqual(['mount', 'umount']);
});
