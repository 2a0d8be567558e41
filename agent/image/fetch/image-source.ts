import type { Slot } from '#agent/image/decode/slot-pool.ts';
import type { Download } from '#agent/image/fetch/download.ts';
import type { ReadPiece } from '#agent/image/fetch/range-reader.ts';

export interface PieceOptions {
  /** Bytes to skip, as `createRangeReader` has it; default: such servers give nothing. */
  readonly skipTo?: number;
  /** Default: as often as the download itself. */
  readonly maxTries?: number;
}

export interface ImageSource {
  readonly download: Download;
  /** The file's beginning; it comes again as the first of `slots`. */
  readonly head: Buffer;
  /** The file as served, in order; what has passed here is hashed and reported as progress. */
  readonly slots: AsyncGenerator<Slot>;
  /** Pieces of the file out of order, beside `slots`. */
  readonly readPiece: (fileBytes: number, options?: PieceOptions) => ReadPiece;
  /** Waits for the checksum of all that has passed. @throws AppError `image_error` when it is another. */
  readonly verify: () => Promise<void>;
  /** Aborts when the write is over, however it ends. */
  readonly signal: AbortSignal;
}
