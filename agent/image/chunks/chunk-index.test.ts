import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { makeChunks } from '#agent/image/testing/serve-chunks.ts';
import { parseChunkIndex } from '#shared/chunks/chunk-index.ts';

/** Data of 512 KiB; the expected chunks are those of `casync make` of Debian 12. */
const data = Buffer.concat(
  Array.from({ length: 16_384 }, (_, number) => {
    const bytes = Buffer.alloc(8);
    bytes.writeUInt32LE(number);
    return createHash('sha256').update(bytes).digest();
  }),
);
const ends = [80_921, 138_220, 187_412, 237_372, 296_795, 348_909, 437_333, 483_751, 524_288];
const { index } = makeChunks(data, ends);

describe("casync's index", () => {
  test('is what the tests make', () => {
    expect(createHash('sha256').update(index).digest('hex')).toBe(
      'b48a4b169d1b799a14402695c011984ad2fc5a6519509fdd826de90a7630941c',
    );
  });

  test('is read', () => {
    const { chunks, ...rest } = parseChunkIndex(index);
    expect(rest).toEqual({
      imageBytes: 524_288,
      digest: 'sha512-256',
      sizes: { min: 16_384, avg: 65_536, max: 262_144 },
    });
    expect(chunks.map(({ offset, length }) => offset + length)).toEqual(ends);
    expect(chunks[0]?.id).toBe('0fac270dc01e8432b80e21552476de6483653a3b261f710457abdd5c8f22e860');
  });

  test.each<[string, (file: Buffer) => Buffer, RegExp]>([
    ['cut', (file) => file.subarray(0, 300), /cut short/],
    ['without its last chunk', (file) => file.subarray(0, -40), /no proper beginning or end/],
    ['without order', (file) => patch(file, 64, 0xffff_ffffn), /the chunk at byte 0 has 4294967295 bytes/],
    ['going back', (file) => patch(file, 104, 5n), /the chunk at byte 80921 has -80916 bytes/],
    ['of huge chunks', (file) => patch(file, 40, 1n << 40n), /4194304 is the most/],
  ])('is refused when it is %s', (_name, change, text) => {
    expect(() => parseChunkIndex(change(index))).toThrow(text);
  });
});

function patch(file: Buffer, at: number, value: bigint): Buffer {
  const changed = Buffer.from(file);
  changed.writeBigUInt64LE(value, at);
  return changed;
}
