import { writeChunks } from '#agent/image/chunks/write-chunks.ts';
import { detectCompression } from '#agent/image/decode/compression.ts';
import { createHasher, type Hasher } from '#agent/image/decode/hasher.ts';
import { inspectImage, requireKnownFormat } from '#agent/image/decode/image-format.ts';
import { createSlotPool, type Slot, type SlotPool } from '#agent/image/decode/slot-pool.ts';
import { decodeZlib } from '#agent/image/decode/zlib-decoder.ts';
import type { Disk } from '#agent/image/disk/disk.ts';
import type { CheckHead, ImageTarget, WrittenBytes } from '#agent/image/disk/image-target.ts';
import { type Download, openDownload } from '#agent/image/fetch/download.ts';
import type { ExpectedChecksum } from '#agent/image/fetch/expected-checksum.ts';
import type { ImageSource } from '#agent/image/fetch/image-source.ts';
import { createRangeReader } from '#agent/image/fetch/range-reader.ts';
import { writeQcow2 } from '#agent/image/qcow2/write-qcow2.ts';
import { type DownloadWatch, watchDownload } from '#agent/image/watch-download.ts';
import { writeRaw } from '#agent/image/write-raw.ts';
import type { Share } from '#agent/image-means/image-share.ts';
import { isChunkIndex } from '#shared/chunks/chunk-index.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';
import type { OutboundRules } from '#shared/peers/outbound-url.ts';
import type { Progress } from '#shared/wire/progress.ts';

/** Slots of each pool: enough for four writes in flight, the hash thread's queue and the slot being filled. */
const poolSlots = 8;
/** How often it is looked whether bytes move. */
const lookEveryMs = 5_000;

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
  /** `image_info.disk_format`: what arrives must be that. */
  readonly declaredFormat?: string | null | undefined;
  /** Where it may be fetched from. */
  readonly rules?: OutboundRules | undefined;
  /** Shares an image in chunks, by the checksum of its index, with the machines that write it too. */
  readonly share?: ((image: string) => Share) | undefined;
  /** Throws when the image's beginning (unpacked; 1 MiB, or all of a smaller one) shows that it is not wanted. */
  readonly checkHead?: CheckHead;
}

/**
 * Streams an image from its servers onto a disk: fetch → hash as served → unpack → write. Memory is two fixed pools,
 * whatever the image's size. The first MiB is written last, once the checksum is right and the rest is on stable
 * storage: until then the disk can't boot.
 * @param target to refuse an image that can't fit before anything is touched
 * @param openDisk called once the image's beginning is there and looks right; from then on the disk is changed
 * @throws AppError `image_error` (no such image, wrong checksum, cut short), `storage_error` (too small, write
 * failed), `not_supported` (format), `unavailable`, `aborted`. The first MiB has not been written then.
 */
export async function writeImage(
  target: ImageTarget,
  openDisk: () => Promise<Disk>,
  options: WriteImageOptions,
): Promise<WrittenBytes> {
  // whatever ends this ends the download and everything that waits in the pipeline
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const pool = createSlotPool(poolSlots, signal);
  const watch = watchDownload(options);
  const looks = setInterval(watch.look, lookEveryMs);
  try {
    return await transfer(target, openDisk, { ...options, watch, pool, signal, stop: () => stop.abort() });
  } finally {
    clearInterval(looks);
    stop.abort();
  }
}

interface Transfer extends WriteImageOptions {
  readonly watch: DownloadWatch;
  readonly pool: SlotPool;
  /** Ends whatever waits in the pipeline. */
  readonly stop: () => void;
}

async function transfer(
  target: ImageTarget,
  openDisk: () => Promise<Disk>,
  { watch, pool, stop, ...options }: Transfer,
): Promise<WrittenBytes> {
  const { signal } = options;
  const waits = { headers: {}, maxTries: 10, retryDelayMs: 10_000, idleTimeoutMs: 60_000 };
  const tries = { ...waits, ...options, onFailedTry: watch.failed };
  const download = await openDownload({ ...tries, pool });
  const served = await unpackServed(download, pool, signal);
  const { slots } = served;
  const hasher = createHasher(options.checksum.algorithm, served.pool.memory);
  try {
    const first = await slots.next();
    if (first.done) throw emptyImage();
    const head = first.value.bytes.subarray(0, first.value.length);
    const { format, compression } = inspectImage(head, options.declaredFormat);
    const source: ImageSource = {
      download: served.download,
      head,
      slots: reporting(hashing(prepend(first.value, slots), hasher), download, { signal, watch }),
      readPiece: (fileBytes, pieceOptions) => createRangeReader(head, fileBytes, { ...tries, ...pieceOptions }),
      verify: () => checkDigest(hasher, options.checksum, describeEncoding(download, served)),
      signal,
    };
    const checkHead: CheckHead = options.checkHead ?? (() => undefined);
    if (format === 'qcow2') return await writeQcow2(source, target, openDisk, checkHead);
    const checkRaw: CheckHead = async (unpacked, rest) => {
      requireKnownFormat(unpacked, options.declaredFormat);
      await checkHead(unpacked, rest);
    };
    if (isChunkIndex(head)) {
      const { share } = options;
      const sharing = share && (() => share(options.checksum.hex));
      return await writeChunks(source, target, openDisk, checkRaw, {
        ...tries,
        reportDone: watch.moved,
        share: sharing,
      });
    }
    return await writeRaw(source, compression, target, openDisk, checkRaw);
  } finally {
    stop();
    await slots.return(undefined);
    await hasher.close();
  }
}

interface Served {
  readonly slots: AsyncGenerator<Slot>;
  /** Theirs. */
  readonly pool: SlotPool;
  readonly download: Download;
}

/** The file in order, whatever the server made of it for the way; its length is not known then. */
async function unpackServed(download: Download, pool: SlotPool, signal: AbortSignal): Promise<Served> {
  const served = download.slots();
  try {
    const first = await served.next();
    if (first.done) throw emptyImage();
    const encoding = download.encoding();
    const slots = prepend(first.value, served);
    const isPacked = detectCompression(first.value.bytes.subarray(0, first.value.length)) === encoding;
    // some servers say so and send the file as it is
    if (encoding === undefined || !isPacked) return { slots, pool, download };
    const unpacked = createSlotPool(poolSlots, signal);
    const ofFile = { ...download, totalBytes: () => undefined };
    return { slots: decodeZlib(encoding, slots, unpacked), pool: unpacked, download: ofFile };
  } catch (error) {
    await served.return(undefined);
    throw error;
  }
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

/** Lets the slots pass until the write is stopped, and reports how far it is. */
async function* reporting(
  slots: AsyncGenerator<Slot>,
  download: Download,
  { signal, watch }: Pick<Transfer, 'signal' | 'watch'>,
): AsyncGenerator<Slot> {
  for await (const slot of slots) {
    if (signal.aborted) throw new AppError('aborted', 'writing was stopped', { cause: signal.reason });
    yield slot;
    watch.moved(download.doneBytes(), download.totalBytes());
  }
}

function emptyImage(): AppError {
  return new AppError('image_error', 'the image is empty');
}

/** A checksum's commonest fault where a server describes the file as packed: it counts, or leaves out, that packing. */
function describeEncoding(download: Download, served: Served): string {
  const encoding = download.describedEncoding();
  if (encoding === '') return '';
  return served.download === download
    ? `; the server sent it with Content-Encoding ${encoding}, which was taken for the file's own: give the checksum of the file with it`
    : `; the server sent it with Content-Encoding ${encoding}, which was undone: give the checksum of the file without it`;
}

/** @param about what else there is to say of a wrong one */
async function checkDigest(hasher: Hasher, expected: ExpectedChecksum, about: string): Promise<void> {
  const hex = await hasher.digest();
  await hasher.close(); // a thread has memory of its own
  if (hex === expected.hex) return;
  throw new AppError(
    'image_error',
    // without the actual digest: it could be copied into the next request unchecked
    `the image's ${expected.algorithm} is not ${expected.hex}: it was changed, or the checksum belongs to another file${about}`,
    { situation: 'image_checksum' },
  );
}
