import { AppError } from '#shared/errors/app-error.ts';

/** Reads bytes one after the other, as TPMs (big endian) and firmware's logs (little endian) write them. */
export interface ByteReader {
  readonly left: () => number;
  readonly u8: () => number;
  readonly u16: () => number;
  readonly u32: () => number;
  /** Number of 64 bits, which may be beyond what a JavaScript number holds. */
  readonly u64: () => bigint;
  readonly take: (length: number) => Buffer;
  /** Bytes behind their length in 16 bits: a TPM's `TPM2B_…`. */
  readonly sized: () => Buffer;
  /** @throws AppError `invalid_argument` when bytes are left */
  readonly end: () => void;
}

/**
 * Opens bytes for reading.
 * @param subject what they are, for errors: `the quote`
 * @throws AppError `invalid_argument` from each read that goes beyond their end
 */
export function readBytes(bytes: Buffer, subject: string, order: 'big' | 'little' = 'big'): ByteReader {
  let at = 0;
  const take = (length: number): Buffer => {
    if (length > bytes.length - at)
      throw new AppError('invalid_argument', `${subject} ends in the middle, at byte ${at}`);
    at += length;
    return bytes.subarray(at - length, at);
  };
  const isBig = order === 'big';
  const u16 = (): number => (isBig ? take(2).readUInt16BE() : take(2).readUInt16LE());
  return {
    left: () => bytes.length - at,
    u8: () => take(1).readUInt8(),
    u16,
    u32: () => (isBig ? take(4).readUInt32BE() : take(4).readUInt32LE()),
    u64: () => (isBig ? take(8).readBigUInt64BE() : take(8).readBigUInt64LE()),
    take,
    sized: () => take(u16()),
    end: () => {
      if (at < bytes.length)
        throw new AppError('invalid_argument', `${subject} has ${bytes.length - at} bytes too many`);
    },
  };
}

/** A `TPM2B_…`: bytes behind their length. */
export function sized(bytes: Buffer): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
