import { type Compression, detectCompression, zstdContentSize } from '#agent/image/compression.ts';
import type { Disk } from '#agent/image/disk.ts';
import { createDiskWriter, type DiskWriter, tooSmall } from '#agent/image/disk-writer.ts';
import { type Download, openDownload } from '#agent/image/download.ts';
import type { ExpectedChecksum } from '#agent/image/expected-checksum.ts';
import { createHasher, type Hasher } from '#agent/image/hasher.ts';
import { createSlotPool, type Slot } from '#agent/image/slot-pool.ts';
import { decodeXz } from '#agent/image/xz-decoder.ts';
import { decodeZlib } from '#agent/image/zlib-decoder.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { Progress } from '#shared/wire/progress.ts';

/** Slots of each pool: enough for four writes in flight, the hash thread's queue and the slot being filled. */
const poolSlots = 8;
const progressEveryMs = 500;

export interface WriteImageOptions {
  readonly urls: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
  readonly checksum: ExpectedChecksum;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly reportProgress: (progress: Progress) => void;
  readonly maxTries?: number;
  readonly retryDelayMs?: number;
  readonly idleTimeoutMs?: number;
  /** Throws when the image's beginning (unpacked; 1 MiB, or all of a smaller one) shows that it is not wanted. */
  readonly checkHead?: (head: Buffer) => void;
}

export interface WrittenBytes {
  /** Bytes of the disk that the image covers. */
  readonly imageBytes: number;
  /** Of these, bytes that were sent to the disk: holes are not. */
  readonly writtenBytes: number;
  readonly downloadedBytes: number;
  readonly compression: Compression;
  /** The image's first MiB, or all of a smaller one. */
  readonly head: Buffer;
}

/**
 * Streams an image from its servers onto a disk: fetch → hash as served → unpack → write. Memory is two fixed pools,
 * whatever the image's size. The first MiB is written last, once the checksum is right and the rest is on stable
 * storage: until then the disk can't boot.
 * @param sizeBytes of the disk, to refuse an image that can't fit before anything is touched
 * @param openDisk called once the image's beginning is there and looks right; from then on the disk is changed
 * @throws AppError `image_error` (no such image, wrong checksum, cut short), `storage_error` (too small, write
 * failed), `not_supported` (format), `unavailable`, `aborted`. The first MiB has not been written then.
 */
export async function writeImage(
  target: { readonly name: string; readonly sizeBytes: number },
  openDisk: () => Promise<Disk>,
  options: WriteImageOptions,
): Promise<WrittenBytes> {
  // whatever ends this ends the download and everything that waits in the pipeline
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const pool = createSlotPool(poolSlots, signal);
  const download = await openDownload({
    headers: {},
    maxTries: 10,
    retryDelayMs: 10_000,
    idleTimeoutMs: 60_000,
    ...options,
    signal,
    pool,
  });
  const slots = download.slots();
  const hasher = createHasher(options.checksum.algorithm, pool.memory);
  try {
    const first = await slots.next();
    if (first.done) throw emptyImage();
    const compression = detectCompression(first.value.bytes.subarray(0, first.value.length));
    const expected = expectedSize(compression, first.value, download);
    if (expected !== undefined && expected > target.sizeBytes) throw tooSmall(target, expected);
    const unpacked = unpack(compression, hashing(prepend(first.value, slots), hasher), signal);
    const openWriter = async (): Promise<DiskWriter> =>
      createDiskWriter(await openDisk(), compression === 'none' ? expected : undefined);
    const { writer, imageBytes } = await pump(unpacked, openWriter, download, options);
    await checkDigest(hasher, options.checksum);
    await writer.flush();
    await writer.writeFirstSlot();
    const head = writer.firstSlot();
    return {
      imageBytes,
      writtenBytes: writer.writtenBytes(),
      downloadedBytes: download.doneBytes(),
      compression,
      head: Buffer.from(head?.bytes.subarray(0, head.length) ?? []),
    };
  } finally {
    stop.abort();
    await slots.return(undefined);
    await hasher.close();
  }
}

/** Bytes that the image will cover, as far as its beginning tells. */
function expectedSize(compression: Compression, first: Slot, download: Download): number | undefined {
  if (compression === 'none') return download.totalBytes();
  return compression === 'zstd' ? zstdContentSize(first.bytes.subarray(0, first.length)) : undefined;
}

async function* prepend(first: Slot, rest: AsyncGenerator<Slot>): AsyncGenerator<Slot> {
  try {
    yield first;
    yield* rest;
  } finally {
    await rest.return(undefined);
  }
}

async function* hashing(slots: AsyncIterable<Slot>, hasher: Hasher): AsyncGenerator<Slot> {
  for await (const slot of slots) {
    hasher.update(slot);
    yield slot;
  }
}

function unpack(compression: Compression, packed: AsyncGenerator<Slot>, signal: AbortSignal): AsyncGenerator<Slot> {
  if (compression === 'none') return packed;
  const pool = createSlotPool(poolSlots, signal);
  return compression === 'xz' ? decodeXz(packed, pool, signal) : decodeZlib(compression, packed, pool);
}

/** Moves the slots to the disk, which is opened once the first one has passed. */
async function pump(
  slots: AsyncGenerator<Slot>,
  openWriter: () => Promise<DiskWriter>,
  download: Download,
  options: WriteImageOptions,
): Promise<{ readonly writer: DiskWriter; readonly imageBytes: number }> {
  const report = progressReporter(download, options);
  let writer: DiskWriter | undefined;
  let offset = 0;
  for await (const slot of slots) {
    if (options.signal.aborted) throw new AppError('aborted', 'writing was stopped', { cause: options.signal.reason });
    if (writer === undefined) {
      options.checkHead?.(slot.bytes.subarray(0, slot.length));
      writer = await openWriter();
    }
    const { length } = slot;
    await writer.write(slot, offset);
    offset += length;
    report();
  }
  if (writer === undefined) throw emptyImage();
  return { writer, imageBytes: offset };
}

function emptyImage(): AppError {
  return new AppError('image_error', 'the image is empty');
}

function progressReporter(download: Download, options: WriteImageOptions): () => void {
  const last = { at: options.clock.now().getTime(), bytes: 0 };
  return () => {
    const now = options.clock.now().getTime();
    const elapsed = now - last.at;
    if (elapsed < progressEveryMs) return;
    const done = download.doneBytes();
    const total = download.totalBytes();
    options.reportProgress({
      phase: 'writing image',
      done_bytes: done,
      ...(total === undefined ? {} : { total_bytes: total }),
      rate: Math.round(((done - last.bytes) * 1000) / elapsed),
    });
    Object.assign(last, { at: now, bytes: done });
  };
}

async function checkDigest(hasher: Hasher, expected: ExpectedChecksum): Promise<void> {
  const hex = await hasher.digest();
  if (hex === expected.hex) return;
  throw new AppError(
    'image_error',
    `the image's ${expected.algorithm} is ${hex}, but ${expected.hex} is expected: it was changed, or the checksum belongs to another file`,
  );
}
