import { createCipheriv, randomBytes } from 'node:crypto';
import type { RawDisk } from '#agent/erase/raw-disk.ts';
import { type SlotPool, slotBytes } from '#agent/image/slot-pool.ts';
import { AppError } from '#shared/errors/app-error.ts';

export type Pass = 'random' | 'zeros';

/** The passes over a disk that can't erase itself: at least one. */
export function overwritePasses(options: { readonly iterations: number; readonly zeroize: boolean }): readonly Pass[] {
  const passes = [
    ...Array.from({ length: options.iterations }, (): Pass => 'random'),
    ...(options.zeroize ? (['zeros'] as const) : []),
  ];
  return passes.length === 0 ? ['zeros'] : passes;
}

/**
 * Writes over every byte of a disk.
 * @param onBytes told after each MiB how many bytes of this pass are written
 * @throws AppError `aborted` between two MiB, `storage_error` with the place.
 */
export async function overwrite(
  raw: RawDisk,
  pool: SlotPool,
  pass: Pass,
  signal: AbortSignal,
  onBytes: (bytes: number) => void,
): Promise<void> {
  const slot = await pool.acquire();
  try {
    slot.bytes.fill(0);
    // a key stream: random to anybody without the key, and ten times as fast as the kernel's random bytes
    const stream = pass === 'random' ? createCipheriv('aes-128-ctr', randomBytes(16), randomBytes(16)) : undefined;
    const zeros = Buffer.alloc(slotBytes);
    for (let offset = 0; offset < raw.sizeBytes; offset += slotBytes) {
      if (signal.aborted)
        throw new AppError('aborted', `overwriting ${raw.name} was stopped`, { cause: signal.reason });
      const length = Math.min(slotBytes, raw.sizeBytes - offset);
      if (stream) slot.bytes.set(stream.update(zeros));
      await raw.write(slot.bytes.subarray(0, length), offset);
      onBytes(offset + length);
    }
    await raw.flush();
  } finally {
    slot.release();
  }
}
