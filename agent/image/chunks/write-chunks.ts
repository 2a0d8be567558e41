import { createChunkLoader, type LoadedChunk } from '#agent/image/chunks/load-chunk.ts';
import { type PlannedChunk, planSources } from '#agent/image/chunks/plan-sources.ts';
import { createChunkReader } from '#agent/image/chunks/read-chunk.ts';
import { surveyDisk } from '#agent/image/chunks/survey-disk.ts';
import { createSlotPool, type Slot, slotBytes } from '#agent/image/decode/slot-pool.ts';
import type { Disk } from '#agent/image/disk/disk.ts';
import { createDiskWriter, type DiskWriter, tooSmall } from '#agent/image/disk/disk-writer.ts';
import type { CheckHead, ImageTarget, WrittenBytes } from '#agent/image/disk/image-target.ts';
import type { KeptConnections } from '#agent/image/fetch/connection.ts';
import type { ImageSource } from '#agent/image/fetch/image-source.ts';
import type { ChunkSupply } from '#agent/image/neighbours/chunk-supply.ts';
import { openSupply } from '#agent/image/neighbours/shared-supply.ts';
import { type ChunkMemory, createChunkMemory } from '#agent/image/one-chunk/chunk-memory.ts';
import type { FetchOptions } from '#agent/image/one-chunk/fetch-chunk.ts';
import type { Share } from '#agent/image-means/image-share.ts';
import { type ChunkIndex, parseChunkIndex } from '#shared/chunks/chunk-index.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { BytesByOrigin } from '#shared/wire/progress.ts';

const poolSlots = 8;
/** Bytes of chunks that wait in memory for their new place. */
const heldBytes = 64 * 1024 * 1024;
/** Bytes of the index: 1.6 million chunks. */
const maxIndexBytes = 64 * 1024 * 1024;

export interface WriteChunksOptions extends Omit<FetchOptions, 'kept'> {
  /** Called as the image grows, in bytes of the image. */
  readonly reportDone: (doneBytes: number, imageBytes: number, origin: BytesByOrigin) => void;
  /** Begins to share this image with the machines that write it too; `undefined`: with none. */
  readonly share?: (() => Share) | undefined;
}

/**
 * Writes the raw image whose chunk index `source` brings: chunks that the disk has in place are kept and not written,
 * those that it has elsewhere are copied, the rest is fetched from the chunk store beside the index. Each chunk is
 * checked by its id before it is written; the index itself by the image's checksum. The first MiB is always fetched,
 * and written last. What others deploy too is fetched from them where that is faster, and offered to them.
 * @throws AppError as `writeImage`.
 */
export async function writeChunks(
  source: ImageSource,
  target: ImageTarget,
  openDisk: () => Promise<Disk>,
  checkHead: CheckHead,
  options: WriteChunksOptions,
): Promise<WrittenBytes> {
  const kept: KeptConnections = new Map();
  const index = parseChunkIndex(await readIndex(source));
  if (index.imageBytes === 0) throw new AppError('image_error', 'the image is empty');
  if (index.imageBytes > target.sizeBytes) throw tooSmall(target, index.imageBytes);
  const memory = createChunkMemory(index, source.signal);
  const { supply, share } = openSupply(index, memory, options.share, { ...options, kept }, source.signal);
  try {
    const written = await writeAll(source, index, openDisk, checkHead, { ...options, supply, memory });
    share?.linger();
    return written;
  } catch (error) {
    share?.end();
    throw error;
  } finally {
    supply.close();
    await memory.close();
    for (const connection of [...kept.values()].flat()) connection.close();
  }
}

interface Writing extends Pick<WriteChunksOptions, 'reportDone'> {
  readonly supply: ChunkSupply;
  readonly memory: ChunkMemory;
}

async function writeAll(
  source: ImageSource,
  index: ChunkIndex,
  openDisk: () => Promise<Disk>,
  checkHead: CheckHead,
  { supply, memory, reportDone }: Writing,
): Promise<WrittenBytes> {
  const origin = { kept: 0, copied: 0, fetched: source.download.doneBytes(), neighbours: 0 };
  const state: { rest?: AsyncGenerator<LoadedChunk>; writer?: DiskWriter; disk?: string } = {};
  let passed = 0;
  const count = (chunk: LoadedChunk): void => {
    if (chunk.from === 'kept' || chunk.from === 'copied') origin[chunk.from] += chunk.length;
    if (chunk.from === 'fetched' || chunk.from === 'neighbours') origin[chunk.from] += chunk.sentBytes;
    passed += 1;
    if (state.disk !== undefined) supply.reach(passed, state.disk);
  };
  let end = 0;
  for await (const { slot, kept } of toSlots(
    loadAll(index, () => state.rest, { supply, memory }),
    count,
    source.signal,
  )) {
    if (state.writer === undefined) {
      const beginning = slot.bytes.subarray(0, slot.length);
      await checkHead(beginning, {
        imageBytes: index.imageBytes,
        // others are chosen by what the disk has
        look: async (offset, bytes) =>
          offset + bytes <= beginning.length ? beginning.subarray(offset, offset + bytes) : undefined,
      });
      const disk = await openDisk();
      // zeroing ahead would take what is to be kept: zeros go where the image has them, as on rotational disks
      state.writer = createDiskWriter({ ...disk, rotational: true }, index.imageBytes);
      state.disk = disk.name;
      state.rest = await loadRest(index, disk, { supply, memory }, source.signal);
    }
    const offset = end;
    end += slot.length;
    if (kept) slot.release();
    else await state.writer.write(slot, offset);
    reportDone(end, index.imageBytes, origin);
  }
  const { writer } = state;
  await writer?.flush();
  await writer?.writeFirstSlot();
  const head = writer?.firstSlot();
  return {
    imageBytes: index.imageBytes,
    writtenBytes: writer?.writtenBytes() ?? 0,
    origin,
    downloadedBytes: origin.fetched,
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

/**
 * Loads all chunks: those of the first MiB are fetched before the disk is opened; what is on it decides about the rest.
 */
async function* loadAll(
  index: ChunkIndex,
  rest: () => AsyncGenerator<LoadedChunk> | undefined,
  { supply, memory }: Pick<Writing, 'supply' | 'memory'>,
): AsyncGenerator<LoadedChunk> {
  const head = index.chunks.slice(0, firstBehindHead(index));
  supply.expect(head);
  yield* inOrder(head, memory.atOnce, async (chunk, signal) => ({
    ...(await supply.obtain(chunk, signal)),
    length: chunk.length,
  }));
  yield* rest() ?? [];
}

function firstBehindHead({ chunks }: ChunkIndex): number {
  const behind = chunks.findIndex(({ offset }) => offset >= slotBytes);
  return behind === -1 ? chunks.length : behind;
}

async function loadRest(
  index: ChunkIndex,
  disk: Disk,
  { supply, memory }: Pick<Writing, 'supply' | 'memory'>,
  signal: AbortSignal,
): Promise<AsyncGenerator<LoadedChunk>> {
  const read = createChunkReader(disk, memory);
  const survey = await surveyDisk(disk, index, read, memory.atOnce, signal);
  const plan = planSources(index, survey, firstBehindHead(index), heldBytes);
  supply.expect(plan.filter(({ source }) => source.kind === 'fetched').map(({ chunk }) => chunk));
  const { hold, load } = createChunkLoader(index, read, supply);
  // the head's last chunk may fill the second MiB before any of these is asked for
  await hold(plan[0]?.holdFirst ?? []);
  return inOrder<PlannedChunk, LoadedChunk>(plan, memory.atOnce, load);
}

interface FilledSlot {
  readonly slot: Slot;
  /** All of it is on the disk already. */
  readonly kept: boolean;
}

/** Joins chunks to slots, every one full but the last; a slot is out before the next chunk is asked for. */
async function* toSlots(
  chunks: AsyncIterable<LoadedChunk>,
  count: (chunk: LoadedChunk) => void,
  signal: AbortSignal,
): AsyncGenerator<FilledSlot> {
  const pool = createSlotPool(poolSlots, signal);
  let filled = { slot: await pool.acquire(), kept: true };
  for await (const chunk of chunks) {
    count(chunk);
    for (let from = 0; from < chunk.length; ) {
      const { slot } = filled;
      const length = Math.min(chunk.length - from, slotBytes - slot.length);
      if (chunk.bytes) slot.bytes.set(chunk.bytes.subarray(from, from + length), slot.length);
      slot.length += length;
      from += length;
      filled.kept &&= chunk.from === 'kept';
      if (from === chunk.length) chunk.release();
      if (slot.length < slotBytes) continue;
      yield filled;
      filled = { slot: await pool.acquire(), kept: true };
    }
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
