import { type Chunk, type ChunkIndex, chunkId, parseChunkIndex } from '#agent/image/chunks/chunk-index.ts';
import { type FetchOptions, fetchChunk } from '#agent/image/chunks/fetch-chunk.ts';
import { createChunkFinder } from '#agent/image/chunks/find-chunk.ts';
import type { KeptConnections } from '#agent/image/connection.ts';
import type { Disk } from '#agent/image/disk.ts';
import { createDiskWriter, tooSmall } from '#agent/image/disk-writer.ts';
import type { ImageSource } from '#agent/image/image-source.ts';
import { createSlotPool, type Slot, slotBytes } from '#agent/image/slot-pool.ts';
import type { WrittenBytes } from '#agent/image/write-image.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Chunks read from the disk or fetched at once. */
const chunksAtOnce = 8;
const poolSlots = 8;
/** Of the index: 1.6 million chunks. */
const maxIndexBytes = 64 * 1024 * 1024;

export interface WriteChunksOptions extends Omit<FetchOptions, 'kept'> {
  /** Called as the image grows, in bytes of the image. */
  readonly reportDone: (doneBytes: number, imageBytes: number) => void;
}

/** A chunk's content, and where it is from. */
interface LoadedChunk {
  readonly bytes: Uint8Array;
  readonly kept: boolean;
  readonly fetchedBytes: number;
  readonly release: () => void;
}

/**
 * Writes the raw image whose chunk index `source` brings: chunks that the disk already has in place are kept and not
 * written, the rest is fetched from the chunk store beside the index. Each chunk is checked by its id before it is
 * written; the index itself by the image's checksum. The first MiB is always fetched, and written last.
 * @throws AppError as `writeImage`.
 */
export async function writeChunks(
  source: ImageSource,
  target: { readonly name: string; readonly sizeBytes: number },
  openDisk: () => Promise<Disk>,
  checkHead: (head: Buffer) => void,
  options: WriteChunksOptions,
): Promise<WrittenBytes> {
  const kept: KeptConnections = new Map();
  try {
    return await writeAll(source, target, openDisk, checkHead, { ...options, kept });
  } finally {
    for (const connection of [...kept.values()].flat()) connection.close();
  }
}

async function writeAll(
  source: ImageSource,
  target: { readonly name: string; readonly sizeBytes: number },
  openDisk: () => Promise<Disk>,
  checkHead: (head: Buffer) => void,
  options: WriteChunksOptions & FetchOptions,
): Promise<WrittenBytes> {
  const index = parseChunkIndex(await readIndex(source));
  if (index.imageBytes === 0) throw new AppError('image_error', 'the image is empty');
  if (index.imageBytes > target.sizeBytes) throw tooSmall(target, index.imageBytes);
  const figures = { keptBytes: 0, fetchedBytes: source.download.doneBytes(), end: 0 };
  const state: { find?: ReturnType<typeof createChunkFinder>; writer?: ReturnType<typeof createDiskWriter> } = {};
  const load = loader(index, () => state.find, options, source.signal);
  for await (const { slot, kept, fetchedBytes } of toSlots(loadAll(index, load), source.signal)) {
    if (state.writer === undefined) {
      checkHead(slot.bytes.subarray(0, slot.length));
      const disk = await openDisk();
      // zeroing ahead would take what is to be kept: zeros go where the image has them, as on rotational disks
      state.writer = createDiskWriter({ ...disk, rotational: true }, index.imageBytes);
      state.find = createChunkFinder(disk, index, chunksAtOnce, source.signal);
    }
    const offset = figures.end;
    figures.end += slot.length;
    figures.fetchedBytes += fetchedBytes;
    if (kept) {
      figures.keptBytes += slot.length;
      slot.release();
    } else {
      await state.writer.write(slot, offset);
    }
    options.reportDone(figures.end, index.imageBytes);
  }
  const { writer } = state;
  await writer?.flush();
  await writer?.writeFirstSlot();
  const head = writer?.firstSlot();
  return {
    imageBytes: index.imageBytes,
    writtenBytes: writer?.writtenBytes() ?? 0,
    keptBytes: figures.keptBytes,
    downloadedBytes: figures.fetchedBytes,
    format: 'raw',
    compression: 'none',
    head: Buffer.from(head?.bytes.subarray(0, head.length) ?? []),
  };
}

async function readIndex({ slots, verify }: ImageSource): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const slot of slots) {
    if (pieces.length * slotBytes >= maxIndexBytes) {
      throw new AppError('not_supported', `the image's chunk index is larger than ${maxIndexBytes} bytes`);
    }
    pieces.push(Buffer.from(slot.bytes.subarray(0, slot.length)));
    slot.release();
  }
  await verify();
  return Buffer.concat(pieces);
}

type Load = (chunk: Chunk, signal: AbortSignal) => Promise<LoadedChunk>;

/** Those of the first MiB are done with before the rest is begun: until then the disk is not open. */
async function* loadAll({ chunks }: ChunkIndex, load: Load): AsyncGenerator<LoadedChunk> {
  const behind = chunks.findIndex(({ offset }) => offset >= slotBytes);
  const first = behind === -1 ? chunks.length : behind;
  yield* inOrder(chunks.slice(0, first), chunksAtOnce, load);
  yield* inOrder(chunks.slice(first), chunksAtOnce, load);
}

/** From the disk where it is there, made here where it is zeros, else from the store. */
function loader(
  { digest, maxChunkBytes }: ChunkIndex,
  finder: () => ReturnType<typeof createChunkFinder> | undefined,
  options: FetchOptions,
  stopped: AbortSignal,
): Load {
  const zeros = Buffer.alloc(maxChunkBytes);
  const zeroId = chunkId(zeros, digest);
  const release = (): void => undefined;
  return async (chunk, signal) => {
    const found = await finder()?.(chunk);
    if (found) return { ...found, kept: true, fetchedBytes: 0 };
    // a long hole is cut into the largest chunks
    if (chunk.length === maxChunkBytes && chunk.id === zeroId) {
      return { bytes: zeros, kept: false, fetchedBytes: 0, release };
    }
    const fetched = await fetchChunk(chunk, digest, options, AbortSignal.any([signal, stopped]));
    return { ...fetched, kept: false, release };
  };
}

interface FilledSlot {
  readonly slot: Slot;
  /** All of it is on the disk already. */
  readonly kept: boolean;
  readonly fetchedBytes: number;
}

/** Joins chunks to slots, every one full but the last; a slot is out before the next chunk is asked for. */
async function* toSlots(chunks: AsyncIterable<LoadedChunk>, signal: AbortSignal): AsyncGenerator<FilledSlot> {
  const pool = createSlotPool(poolSlots, signal);
  let filled = { slot: await pool.acquire(), kept: true, fetchedBytes: 0 };
  for await (const chunk of chunks) {
    filled.fetchedBytes += chunk.fetchedBytes;
    for (let from = 0; from < chunk.bytes.length; ) {
      const { slot } = filled;
      const piece = chunk.bytes.subarray(from, from + slotBytes - slot.length);
      slot.bytes.set(piece, slot.length);
      slot.length += piece.length;
      from += piece.length;
      filled.kept &&= chunk.kept;
      if (slot.length < slotBytes) continue;
      yield filled;
      filled = { slot: await pool.acquire(), kept: true, fetchedBytes: 0 };
    }
    chunk.release();
  }
  if (filled.slot.length > 0) yield filled;
}

/**
 * Starts `load` for up to `atOnce` items, counting the one being consumed, and yields their results in the items'
 * order. When it ends early, loads under way are aborted and waited for: they may hold the disk.
 */
async function* inOrder<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  load: (item: Item, signal: AbortSignal) => Promise<Result>,
): AsyncGenerator<Result> {
  const stop = new AbortController();
  const ahead: Promise<Result>[] = [];
  let next = 0;
  const startMore = (): void => {
    for (; ahead.length < atOnce && next < items.length; next += 1) {
      const loading = load(items[next] as Item, stop.signal);
      loading.catch(() => undefined); // thrown when its turn comes; after an earlier failure it is an abort
      ahead.push(loading);
    }
  };
  try {
    for (startMore(); ahead.length > 0; startMore()) {
      yield await (ahead[0] as Promise<Result>);
      void ahead.shift();
    }
  } finally {
    stop.abort();
    await Promise.allSettled(ahead);
  }
}
