import { gzipSync, zstdCompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { undoEncoding } from '#agent/image/fetch/content-encoding.ts';
import { readAll } from '#agent/image/fetch/fetch-small.ts';

describe('a small body that is packed for the way', () => {
  const text = Buffer.from('abc'.repeat(100));
  const packed = { gzip: gzipSync(text), zstd: zstdCompressSync(text) } as const;

  test.each(['gzip', 'zstd'] as const)('%s is unpacked, up to its limit', (encoding) => {
    expect(undoEncoding(packed[encoding], encoding, text.length)).toEqual(text);
    expect(() => undoEncoding(packed[encoding], encoding, text.length - 1)).toThrow('larger than 299 bytes');
  });

  test('by another way than it says is refused', () => {
    expect(() => undoEncoding(packed.zstd, 'gzip', 1000)).toThrow('unpack its Content-Encoding gzip');
  });
});

describe('a small body that comes in pieces', () => {
  const body = Buffer.from('0123456789');
  /** Gives `step` bytes at a time; `end` of the body at its end. */
  const answer = (step: number, end: 'complete' | 'cut', bodyBytes?: number) => {
    let at = 0;
    return {
      status: 200,
      headers: new Map<string, string>(),
      bodyBytes,
      close: () => undefined,
      read: (into: Uint8Array) => {
        const piece = body.subarray(at, at + Math.min(step, into.length));
        into.set(piece);
        at += piece.length;
        return Promise.resolve({ bytes: piece.length, state: at < body.length ? ('more' as const) : end });
      },
    };
  };

  test.each([1, 3, 10])('is put together from %i bytes at a time', async (step) => {
    expect(await readAll(answer(step, 'complete'), 10)).toEqual(body);
    expect(await readAll(answer(step, 'complete', 10), 10, Buffer.alloc(2))).toEqual(body);
  });

  test('is an error where it is cut, or longer than may be', async () => {
    await expect(readAll(answer(3, 'cut'), 100)).rejects.toMatchObject({
      code: 'unavailable',
      message: 'the connection ended after 10 bytes',
    });
    await expect(readAll(answer(3, 'complete'), 9)).rejects.toThrow('larger than 9 bytes');
    await expect(readAll(answer(3, 'complete', 10), 9)).rejects.toThrow('larger than 9 bytes');
  });
});
