import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { createHasher } from '#agent/image/decode/hasher.ts';
import { createSlotPool } from '#agent/image/decode/slot-pool.ts';

async function hashSlots(algorithm: string, count: number): Promise<string> {
  const pool = createSlotPool(2);
  const hasher = createHasher(algorithm, pool.memory);
  try {
    for (let index = 0; index < count; index += 1) {
      const slot = await pool.acquire();
      slot.length = slot.bytes.fill(index).length;
      hasher.update(slot);
      slot.release();
    }
    return await hasher.digest();
  } finally {
    await hasher.close();
  }
}

test('the digest of all slots', async () => {
  const wanted = createHash('sha256');
  for (const byte of [0, 1, 2, 3, 4]) wanted.update(Buffer.alloc(1024 * 1024, byte));
  expect(await hashSlots('sha256', 5)).toBe(wanted.digest('hex'));
});

test('a thread that dies gives its slots back, and the next slot fails', async () => {
  await expect(hashSlots('nonsense', 20)).rejects.toThrow('hash the image with nonsense');
});

test('a thread that dies before the digest fails it', async () => {
  await expect(hashSlots('nonsense', 0)).rejects.toThrow('hash the image with nonsense');
});

test('waiting for a slot ends with the signal', async () => {
  const stop = new AbortController();
  const pool = createSlotPool(1, stop.signal);
  const slot = await pool.acquire();
  const waiting = pool.acquire();
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
  await expect(pool.acquire()).rejects.toMatchObject({ code: 'aborted' });
  slot.release();
});

test('a slot that comes free goes to the first who waits', async () => {
  const pool = createSlotPool(1, new AbortController().signal);
  const slot = await pool.acquire();
  const waiting = pool.acquire();
  slot.release();
  expect(await waiting).toBe(slot);
});
