import { constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { detectCompression, zstdContentSize } from '#agent/image/decode/compression.ts';

test('formats by their first bytes', () => {
  expect(detectCompression(zstdCompressSync(Buffer.alloc(100)))).toBe('zstd');
  expect(detectCompression(gzipSync(Buffer.alloc(100)))).toBe('gzip');
  expect(detectCompression(Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 1]))).toBe('xz');
  expect(detectCompression(Buffer.alloc(512))).toBe('none');
  expect(detectCompression(Buffer.alloc(1))).toBe('none');
});

test.each([10, 255, 256, 300, 65_791, 65_792, 5_000_000])('a zstd frame of %d bytes says so', (bytes) => {
  const frame = Buffer.concat([zstdCompressSync(Buffer.alloc(bytes)), Buffer.alloc(18)]);
  expect(zstdContentSize(frame)).toBe(bytes);
});

test('a zstd frame need not say how much it holds', () => {
  const frame = zstdCompressSync(Buffer.alloc(5000), { params: { [constants.ZSTD_c_contentSizeFlag]: 0 } });
  expect(zstdContentSize(Buffer.concat([frame, Buffer.alloc(18)]))).toBeUndefined();
  expect(zstdContentSize(Buffer.alloc(4))).toBeUndefined();
});
