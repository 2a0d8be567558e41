import type { ReadChunk } from '#agent/image/chunks/read-chunk.ts';
import { createSlotPool, slotBytes } from '#agent/image/decode/slot-pool.ts';
import type { Disk } from '#agent/image/disk/disk.ts';
import { type Chunk, type ChunkIndex, chunkId, zeroChunkId } from '#shared/chunks/chunk-index.ts';
import { blockBytes, createCutter, isCutAtBlocks } from '#shared/chunks/write-store.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** Parts of an image that are on a disk. */
export interface Survey {
  /** The chunks that are where the image has them. */
  readonly inPlace: ReadonlySet<Chunk>;
  /** Where the others lie, by id. */
  readonly elsewhere: ReadonlyMap<string, Place>;
}

export interface Place {
  /** In bytes. */
  readonly offset: number;
  /** The image has the same there: nothing else will be written over it. */
  readonly stays: boolean;
}

/** So many chunks, evenly spread, show whether looking further is worth the disk's time. */
const sampleChunks = 64;
const sampleStretches = 4;
const leastFound = 0.05;
const stretchBytes = 16 * 1024 * 1024;

/**
 * Looks for the image's chunks on a disk, as after a deploy of this image or of one like it, or a write that broke off:
 * each at its own place; then, between those that are there, for chunks that lie elsewhere, by cutting what is there
 * as the image was cut. That finds them only of images cut at blocks. A disk that shows next to none in a sample is
 * not read further; holes show nothing.
 * @param atOnce how many chunks are read at a time
 */
export async function surveyDisk(
  disk: Disk,
  index: ChunkIndex,
  read: ReadChunk,
  atOnce: number,
  signal: AbortSignal,
): Promise<Survey> {
  const zeroId = zeroChunkId(index);
  const inPlace = new Set<Chunk>();
  const lookAt = (chunks: readonly Chunk[]): Promise<unknown> =>
    inParallel(
      chunks,
      async (chunk) => {
        const found = await read(chunk, chunk.offset);
        found?.release();
        if (found) inPlace.add(chunk);
      },
      { atOnce },
    );
  const [sample] = spread(
    index.chunks.filter(({ id }) => id !== zeroId),
    sampleChunks,
  );
  await lookAt(sample);
  if (inPlace.size >= sample.length * leastFound) await lookAt(index.chunks.filter((chunk) => !inPlace.has(chunk)));

  const missing = index.chunks.filter((chunk) => !inPlace.has(chunk));
  const wanted = new Set(missing.map(({ id }) => id).filter((id) => id !== zeroId));
  const elsewhere = new Map<string, Place>();
  for (const { id, offset } of inPlace) if (wanted.has(id)) elsewhere.set(id, { offset, stays: true });
  if (!isCutAtBlocks(index)) return { inPlace, elsewhere };

  const count = { cut: 0, found: 0 };
  const scan = createScanner(disk, index, signal, (id, offset) => {
    if (id === zeroId) return;
    count.cut += 1;
    if (!wanted.has(id)) return;
    count.found += 1;
    const known = elsewhere.get(id);
    // of several the hindmost: it is written over last
    if (known === undefined || (!known.stays && known.offset < offset)) elsewhere.set(id, { offset, stays: false });
  });
  const [first, rest] = spread(stretchesOf(missing), sampleStretches);
  for (const stretch of first) await scan(stretch);
  if (count.found > 0 && count.found >= count.cut * leastFound) for (const stretch of rest) await scan(stretch);
  return { inPlace, elsewhere };
}

interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** The places of these chunks, joined, in pieces. */
function stretchesOf(chunks: readonly Chunk[]): readonly Stretch[] {
  const found: Stretch[] = [];
  for (const { offset, length } of chunks) {
    const last = found.at(-1);
    const to = offset + length;
    if (last?.to === offset && to - last.from <= stretchBytes) found[found.length - 1] = { from: last.from, to };
    else found.push({ from: offset, to });
  }
  return found;
}

/**
 * Cuts what lies in a stretch of the disk and calls `found` for each chunk. Reads up to the longest chunk behind it: one
 * may begin in it and end there.
 */
function createScanner(
  disk: Disk,
  { digest, sizes }: ChunkIndex,
  signal: AbortSignal,
  found: (id: string, offset: number) => void,
): (stretch: Stretch) => Promise<void> {
  const pool = createSlotPool(1, signal, Math.ceil((4 * sizes.max) / slotBytes) * slotBytes);
  const diskEnd = disk.sizeBytes - (disk.sizeBytes % blockBytes);
  return async (stretch) => {
    const slot = await pool.acquire();
    const { bytes } = slot;
    const cut = createCutter(sizes);
    const readTo = Math.min(diskEnd, Math.ceil((stretch.to + sizes.max) / blockBytes) * blockBytes);
    /** Window of what is read and not yet cut: where it lies in `bytes`, and on the disk. */
    const window = { start: 0, end: 0, offset: stretch.from };
    while (window.offset < stretch.to) {
      const readBytes = window.offset + window.end - window.start;
      if (window.end - window.start < sizes.max && readBytes < readTo) {
        bytes.copyWithin(0, window.start, window.end);
        Object.assign(window, { start: 0, end: window.end - window.start });
        const length = Math.min(bytes.length - window.end, readTo - readBytes);
        const read = await disk.handle.read(bytes, window.end, length, readBytes).catch(() => undefined);
        if (read?.bytesRead !== length) break; // what lies beside a bad sector is fetched
        window.end += length;
      }
      if (window.end === window.start || signal.aborted) break;
      let to = window.start;
      for (let ends = false; !ends && to < window.end; to += blockBytes) {
        ends = cut(bytes.subarray(to, to + blockBytes));
      }
      found(chunkId(bytes.subarray(window.start, to), digest), window.offset);
      window.offset += to - window.start;
      window.start = to;
    }
    slot.release();
  };
}

/** Some items, evenly spread, and the others. */
function spread<T>(items: readonly T[], some: number): readonly [readonly T[], readonly T[]] {
  const step = Math.max(1, items.length / some);
  const picked = new Set(Array.from({ length: Math.min(some, items.length) }, (_, at) => Math.floor(at * step)));
  return [items.filter((_, at) => picked.has(at)), items.filter((_, at) => !picked.has(at))];
}
