import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { packChunk } from '#shared/chunks/pack-chunk.ts';
import { noise } from '#test/support/noise.ts';

const magic = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);
const hasSecondFrame = (packed: Buffer): boolean => packed.indexOf(magic, magic.length) !== -1;
/** Packed they have a few bytes less than 16 KiB, or more, each another number. */
const chunks = Array.from({ length: 64 }, (_, few) => noise('chunk', 16_384 - 32 + few));

test('a chunk is one frame, also where Node makes two', async () => {
  const byDefault = chunks.map((bytes) => zstdCompressSync(bytes));
  expect(byDefault.filter(hasSecondFrame)).toHaveLength(1);
  for (const bytes of chunks) {
    const packed = await packChunk(bytes, 3);
    expect(hasSecondFrame(packed)).toBe(false);
    expect(zstdDecompressSync(packed).equals(bytes)).toBe(true);
  }
});
