import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openExclusive } from '#agent/image/disk/disk.ts';
import { diskFault } from '#agent/storage/disk-fault.ts';
import { faultOf } from '#shared/errors/app-error.ts';

const there = fileURLToPath(import.meta.url);
const gone = '/dev/no-such-disk';
const errorOf = (code: string) => Object.assign(new Error(code), { code });

test.each([
  ['EIO', there, 'disk_failing'],
  ['ENODATA', there, 'disk_failing'],
  ['EIO', gone, 'disk_gone'],
  ['ENXIO', gone, 'disk_gone'],
  ['ENODEV', gone, 'disk_gone'],
  ['ENXIO', there, 'disk_gone'],
  ['EBUSY', there, 'disk_in_use'],
  ['EINVAL', there, undefined],
])('%s of %s', (code, disk, situation) => {
  expect(diskFault(errorOf(code), disk)).toEqual({ situation, subject: disk });
});

test('an error without a code says nothing of the disk', () => {
  expect(diskFault('EIO', there).situation).toBeUndefined();
});

test('a disk that is not there is not one that fails', async () => {
  const error: unknown = await openExclusive(gone).then(
    () => undefined,
    (cause: unknown) => cause,
  );
  expect(faultOf(error)).toEqual({ code: 'disk_gone', subject: gone });
});
