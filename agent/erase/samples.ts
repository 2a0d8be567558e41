import { randomBytes, randomInt } from 'node:crypto';
import type { RawDisk } from '#agent/erase/raw-disk.ts';
import type { SlotPool } from '#agent/image/slot-pool.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { EraseProof } from '#shared/wire/erase-result.ts';

/** The unit of a sample: a multiple of every sector size in use. */
export const sampleBytes = 4096;

/** Random bytes written to a disk before it is erased, to be looked for afterwards. */
export interface Canary {
  readonly offset: number;
  readonly bytes: Buffer;
}

/**
 * Writes random bytes to the first block, the last one and random ones between: an erase that only says it was done
 * is found out.
 */
export async function plantCanaries(raw: RawDisk, pool: SlotPool, count = 64): Promise<readonly Canary[]> {
  const slot = await pool.acquire();
  try {
    const canaries = samplePlaces(raw.sizeBytes, count).map((offset) => ({ offset, bytes: randomBytes(sampleBytes) }));
    for (const { offset, bytes } of canaries) {
      const aligned = slot.bytes.subarray(0, sampleBytes);
      aligned.set(bytes);
      await raw.write(aligned, offset);
    }
    await raw.flush();
    return canaries;
  } finally {
    slot.release();
  }
}

/**
 * Reads the canaries' places and others.
 * @throws AppError `storage_error` when a canary is still there.
 */
export async function proveErased(
  raw: RawDisk,
  pool: SlotPool,
  canaries: readonly Canary[],
  extra = 192,
): Promise<EraseProof> {
  const slot = await pool.acquire();
  const seen = { zeros: 0, ones: 0, total: 0 };
  try {
    const others = samplePlaces(raw.sizeBytes, extra).filter(
      (offset) => !canaries.some((canary) => canary.offset === offset),
    );
    for (const place of [...canaries, ...others.map((offset) => ({ offset, bytes: undefined }))]) {
      const read = slot.bytes.subarray(0, sampleBytes);
      read.fill(0x5a); // a read that leaves the buffer alone must not pass for zeros
      await raw.read(read, place.offset);
      if (place.bytes?.equals(read)) {
        throw new AppError(
          'storage_error',
          `${raw.name} still has at byte ${place.offset} what was written there before it was erased`,
        );
      }
      seen.total += 1;
      if (read.every((byte) => byte === 0)) seen.zeros += 1;
      if (read.every((byte) => byte === 0xff)) seen.ones += 1;
    }
    return { canaries: canaries.length, samples: others.length, reads: readsAs(seen) };
  } finally {
    slot.release();
  }
}

function readsAs(seen: { readonly zeros: number; readonly ones: number; readonly total: number }): EraseProof['reads'] {
  if (seen.zeros === seen.total) return 'zeros';
  return seen.ones === seen.total ? 'ones' : 'changed';
}

/** Offsets in ascending order: the first block, the last one, and random ones between; each once. */
export function samplePlaces(sizeBytes: number, count: number): readonly number[] {
  const blocks = Math.floor(sizeBytes / sampleBytes);
  const chosen = new Set(blocks === 0 ? [] : [0, blocks - 1]);
  for (let tries = 0; chosen.size < Math.min(count, blocks) && tries < count * 4; tries += 1) {
    chosen.add(randomInt(blocks));
  }
  return [...chosen].sort((a, b) => a - b).map((block) => block * sampleBytes);
}
