import { createCipheriv, randomBytes } from 'node:crypto';
import type { RawDisk } from '#agent/erase/raw-disk.ts';
import { type SlotPool, slotBytes } from '#agent/image/slot-pool.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Fills a disk with random bytes, then reads all of it and compares: every byte differs from disk to disk and from
 * pass to pass, so that a disk that answers with an older block, or another one's, is found out.
 * @param onBytes told after each MiB how many bytes were written and read in this pass
 * @returns bytes that were read back as written; less than the disk's when the time is over
 * @throws AppError `storage_error` naming the byte, `aborted`.
 */
export async function verifyPass(
  raw: RawDisk,
  pool: SlotPool,
  until: { readonly signal: AbortSignal; readonly isOver: () => boolean },
  onBytes: (bytes: number) => void,
): Promise<number> {
  const [key, start] = [randomBytes(16), randomBytes(16)];
  const slot = await pool.acquire();
  const zeros = Buffer.alloc(slotBytes);
  const forEach = async (
    end: number,
    isOver: () => boolean,
    act: (expected: Buffer, offset: number) => Promise<void>,
  ): Promise<number> => {
    const stream = createCipheriv('aes-128-ctr', key, start);
    let offset = 0;
    for (; offset < end && !isOver(); offset += slotBytes) {
      if (until.signal.aborted) {
        throw new AppError('aborted', `testing ${raw.name} was stopped`, { cause: until.signal.reason });
      }
      const expected = stream.update(zeros).subarray(0, Math.min(slotBytes, end - offset));
      await act(expected, offset);
    }
    return Math.min(offset, end);
  };
  try {
    const written = await forEach(raw.sizeBytes, until.isOver, async (expected, offset) => {
      slot.bytes.set(expected);
      await raw.write(slot.bytes.subarray(0, expected.length), offset);
      onBytes(offset + expected.length);
    });
    await raw.flush();
    // all that was written is read, however late it is: else a short time would compare nothing
    return await forEach(
      written,
      () => false,
      async (expected, offset) => {
        const read = slot.bytes.subarray(0, expected.length);
        await raw.read(read, offset);
        if (!read.equals(expected)) throw differs(raw.name, offset, expected, read);
        onBytes(written + offset + expected.length);
      },
    );
  } finally {
    slot.release();
  }
}

function differs(name: string, offset: number, expected: Buffer, read: Buffer): AppError {
  const at = expected.findIndex((byte, index) => read[index] !== byte);
  const bytes = expected.reduce((sum, byte, index) => sum + (read[index] === byte ? 0 : 1), 0);
  return new AppError(
    'storage_error',
    `${name} gave back other bytes than were written: ${bytes} of ${expected.length} from byte ${offset}, the first at ${offset + at}`,
  );
}
