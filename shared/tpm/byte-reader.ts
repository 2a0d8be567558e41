import { AppError, type ErrorCode } from '#shared/errors/app-error.ts';

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
  /** Takes all that is left. */
  readonly rest: () => Buffer;
  /** @throws AppError when bytes are left */
  readonly end: () => void;
}

export interface ReadBytesOptions {
  readonly order?: 'big' | 'little';
  /** Code of the errors: by default the bytes are somebody's request. */
  readonly code?: ErrorCode;
  /** Words for a read beyond the end, by the place and the bytes that there are; they follow the subject. */
  readonly cut?: (at: number, length: number) => string;
}

/**
 * Opens bytes for reading.
 * @param subject what they are, for errors: `the quote`
 * @throws AppError from each read that goes beyond their end
 */
export function readBytes(
  bytes: Buffer,
  subject: string,
  {
    order = 'big',
    code = 'invalid_argument',
    cut = (at) => `ends in the middle, at byte ${at}`,
  }: ReadBytesOptions = {},
): ByteReader {
  let at = 0;
  const left = (): number => bytes.length - at;
  const take = (length: number): Buffer => {
    if (length > left()) throw new AppError(code, `${subject} ${cut(at, bytes.length)}`);
    at += length;
    return bytes.subarray(at - length, at);
  };
  const isBig = order === 'big';
  const u16 = (): number => (isBig ? take(2).readUInt16BE() : take(2).readUInt16LE());
  return {
    left,
    u8: () => take(1).readUInt8(),
    u16,
    u32: () => (isBig ? take(4).readUInt32BE() : take(4).readUInt32LE()),
    u64: () => (isBig ? take(8).readBigUInt64BE() : take(8).readBigUInt64LE()),
    take,
    sized: () => take(u16()),
    rest: () => take(left()),
    end: () => {
      if (left() > 0) throw new AppError(code, `${subject} has ${left()} bytes too many`);
    },
  };
}
