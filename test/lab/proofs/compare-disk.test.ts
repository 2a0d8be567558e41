import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { compareImageBytes } from '#test/lab/proofs/compare-disk.ts';

const directory = mkdtempSync(join(tmpdir(), 'compare-disk-'));
afterAll(() => rmSync(directory, { recursive: true }));

const mib = 2 ** 20;
const image = Buffer.alloc(9 * mib, 7);
const write = (name: string, content: Buffer): string => {
  const file = join(directory, name);
  writeFileSync(file, content);
  return file;
};
const imageFile = write('image', image);

test.each([
  { what: 'the partition entries of the MBR', offset: 450, seen: false },
  { what: 'the boot code', offset: 439, seen: true },
  { what: 'the primary table', offset: 33 * 512, seen: false },
  { what: 'the first byte behind the primary table', offset: 34 * 512, seen: true },
  { what: 'the last byte before the backup table', offset: 9 * mib - 33 * 512 - 1, seen: true },
  { what: "the image's backup table", offset: 9 * mib - 1, seen: false },
])('a change in $what: seen $seen', ({ offset, seen }) => {
  const disk = Buffer.concat([image, Buffer.alloc(mib)]);
  disk[offset] = 8;
  const result = compareImageBytes(imageFile, write('disk', disk));
  expect(result.firstDifference).toBe(seen ? offset : undefined);
  expect(seen || result.comparedBytes === 9 * mib - 66 * 512 - 72).toBe(true);
});
