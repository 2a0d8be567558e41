import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { ChunkSizes } from '#shared/chunks/chunk-index.ts';
import { blockBytes, chunkSizes, createCutter } from '#shared/chunks/write-store.ts';
import { noise } from '#test/support/noise.ts';

function lengths(data: Buffer, sizes: ChunkSizes): readonly number[] {
  const cut = createCutter(sizes);
  const found: number[] = [];
  let from = 0;
  for (let to = blockBytes; to <= data.length; to += blockBytes) {
    if (!cut(data.subarray(to - blockBytes, to)) && to < data.length) continue;
    found.push(to - from);
    from = to;
  }
  return found;
}

/** The same in every run: another cut of the same bytes would make all of a store useless. */
const data = Buffer.concat(
  Array.from({ length: 4096 }, (_, at) => createHash('sha256').update(String(at)).digest()).map((word) =>
    Buffer.alloc(blockBytes, word),
  ),
);

test('chunks are of the sizes asked for, and the same ones in every release', () => {
  const found = lengths(data, chunkSizes);
  expect(Math.min(...found.slice(0, -1))).toBeGreaterThanOrEqual(chunkSizes.min);
  expect(Math.max(...found)).toBeLessThanOrEqual(chunkSizes.max);
  expect(found.slice(0, 6)).toMatchInlineSnapshot(`
    [
      258048,
      192512,
      434176,
      98304,
      286720,
      126976,
    ]
  `);
});

test('an insertion changes the chunks around it only', () => {
  const at = 1000 * blockBytes;
  const changed = Buffer.concat([data.subarray(0, at), noise('insertion', blockBytes), data.subarray(at)]);
  const [before, after] = [lengths(data, chunkSizes), lengths(changed, chunkSizes)];
  const same = after.filter((length, index) => length === before[index + before.length - after.length]).length;
  expect(same).toBeGreaterThan(before.length * 0.5);
  expect(after.slice(-20)).toEqual(before.slice(-20));
});

test('a hole is cut into the largest chunks', () => {
  expect(new Set(lengths(Buffer.alloc(8 * chunkSizes.max), chunkSizes))).toEqual(new Set([chunkSizes.max]));
});
