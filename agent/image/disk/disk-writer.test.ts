import { expect, test } from 'vitest';
import { splitRuns } from '#agent/image/disk/disk-writer.ts';

const k = 1024;

test('runs of data and holes in steps of 64 KiB', () => {
  const bytes = Buffer.alloc(300 * k);
  bytes[70 * k] = 1;
  bytes[130 * k] = 1;
  bytes[299 * k] = 1;
  expect(splitRuns(bytes, true)).toEqual([
    { from: 0, to: 64 * k, zero: true },
    { from: 64 * k, to: 192 * k, zero: false },
    { from: 192 * k, to: 256 * k, zero: true },
    { from: 256 * k, to: 300 * k, zero: false },
  ]);
});

test('all of it, where holes have to be written', () => {
  expect(splitRuns(Buffer.alloc(300 * k), false)).toEqual([{ from: 0, to: 300 * k, zero: false }]);
});
