import { expect, test } from 'vitest';
import { eraseEach } from '#agent/erase/erase-disks.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { AppError } from '#shared/errors/app-error.ts';

const disks = ['/dev/nvme0n1', '/dev/sda', '/dev/nvme0n2', '/dev/sdb'].map((name, index) =>
  testDevice({ name, serial: `S${index}` }),
);
const context = (signal = new AbortController().signal) => ({ signal });

test('some at a time, but never two namespaces of one controller', async () => {
  const active = new Set<string>();
  const seen: string[][] = [];
  const names = await eraseEach(context(), disks, 2, async ({ name }) => {
    active.add(name);
    seen.push([...active]);
    await Promise.resolve();
    await Promise.resolve();
    active.delete(name);
    return name;
  });
  expect(names).toEqual(disks.map(({ name }) => name));
  expect(Math.max(...seen.map((each) => each.length))).toBe(2);
  expect(seen.some((each) => each.includes('/dev/nvme0n1') && each.includes('/dev/nvme0n2'))).toBe(false);
});

test('one that fails is named with its serial, after the others are done', async () => {
  const failure = eraseEach(context(), disks, 1, ({ name }) =>
    name === '/dev/sda' ? Promise.reject(new AppError('storage_error', 'it is broken')) : Promise.resolve(name),
  );
  await expect(failure).rejects.toThrow(
    'erase /dev/sda (serial S1): it is broken; done: /dev/nvme0n1, /dev/nvme0n2, /dev/sdb',
  );
});

test('nothing begins after the agent was stopped', async () => {
  await expect(eraseEach(context(AbortSignal.abort()), disks, 4, () => Promise.resolve(1))).rejects.toMatchObject({
    code: 'aborted',
  });
});
