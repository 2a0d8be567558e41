import type { Compression } from '#agent/image/decode/compression.ts';
import type { ImageFormat } from '#agent/image/decode/image-format.ts';
import type { ImageRest } from '#agent/image/disk/image-rest.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import type { BytesByOrigin } from '#shared/wire/progress.ts';

/** Check of an image by its beginning; it throws for one that is not wanted. */
export type CheckHead = (head: Buffer, rest: ImageRest) => void | Promise<void>;

/** Figures of an image that was written. */
export interface WrittenBytes {
  readonly imageBytes: number;
  /** Bytes, of these, that were sent to the disk: holes are not. */
  readonly writtenBytes: number;
  /** Origins of the bytes of an image in chunks. */
  readonly origin?: BytesByOrigin;
  readonly downloadedBytes: number;
  readonly format: ImageFormat;
  readonly compression: Compression;
  /** The image's first MiB, or all of a smaller one. */
  readonly head: Buffer;
}

/** The disk or partition that an image goes to. */
export type ImageTarget = Pick<BlockDevice, 'name' | 'sizeBytes' | 'logicalSectorBytes'>;
