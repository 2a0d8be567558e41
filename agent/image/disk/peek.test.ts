import { describe, expect, test } from 'vitest';
import { createSlotPool, type Slot, slotBytes } from '#agent/image/decode/slot-pool.ts';
import { type Peeked, peekIntoImage } from '#agent/image/disk/peek.ts';
import type { Piece } from '#agent/image/fetch/range-reader.ts';
import { noise } from '#test/support/noise.ts';

const image = noise('peek', 7 * slotBytes + 100);

async function* slotsOf(bytes: Buffer): AsyncGenerator<Slot> {
  const pool = createSlotPool(8);
  for (let at = 0; at < bytes.length; at += slotBytes) {
    const slot = await pool.acquire();
    slot.length = bytes.copy(slot.bytes, 0, at, at + slotBytes);
    yield slot;
  }
}

/** All bytes that come, whatever was looked at before. */
async function drain(peeked: Peeked): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const slot of peeked.all()) {
    pieces.push(Buffer.from(slot.bytes.subarray(0, slot.length)));
    slot.release();
  }
  return Buffer.concat(pieces);
}

describe('a look', () => {
  test('takes nothing away, near and far', async () => {
    const asked: Piece[] = [];
    const readPiece = async (piece: Piece): Promise<Buffer> => {
      asked.push(piece);
      return image.subarray(piece.offset, piece.offset + piece.bytes);
    };
    const peeked = await peekIntoImage(slotsOf(image), { imageBytes: image.length, readPiece });
    for (const offset of [100, 2 * slotBytes - 50, 6 * slotBytes]) {
      expect((await peeked.look(offset, 200))?.equals(image.subarray(offset, offset + 200))).toBe(true);
    }
    expect(await peeked.look(image.length - 10, 200)).toHaveLength(10);
    expect(await peeked.look(image.length + 10, 200)).toHaveLength(0);
    expect(asked.map(({ offset }) => offset)).toEqual([6 * slotBytes, image.length - 10]);
    expect((await drain(peeked)).equals(image)).toBe(true);
  });

  test('at what is out of reach shows nothing, and asks a server without ranges once', async () => {
    let asked = 0;
    const readPiece = (): Promise<undefined> => {
      asked += 1;
      return Promise.reject(new Error('no second connection'));
    };
    const peeked = await peekIntoImage(slotsOf(image), { imageBytes: image.length, readPiece });
    expect(await peeked.look(6 * slotBytes, 200)).toBeUndefined();
    expect(await peeked.look(6 * slotBytes, 200)).toBeUndefined();
    expect(asked).toBe(1);
    expect((await drain(peeked)).equals(image)).toBe(true);
  });

  test('at an image of unknown length stops with it', async () => {
    const short = image.subarray(0, slotBytes + 10);
    const peeked = await peekIntoImage(slotsOf(short), { imageBytes: undefined, readPiece: undefined });
    expect(await peeked.look(slotBytes, 200)).toHaveLength(10);
    expect((await drain(peeked)).equals(short)).toBe(true);
    const long = await peekIntoImage(slotsOf(image), { imageBytes: undefined, readPiece: undefined });
    expect(await long.look(6 * slotBytes, 200)).toBeUndefined();
    expect((await drain(long)).equals(image)).toBe(true);
  });
});
