import { availableParallelism } from 'node:os';
import { detectCompression } from '#agent/image/decode/compression.ts';
import { createSlotPool } from '#agent/image/decode/slot-pool.ts';
import { openZlibBinding } from '#agent/image/decode/zlib-binding.ts';
import { type ChunkThread, type ChunkWork, startChunkThread } from '#agent/image/one-chunk/chunk-thread.ts';
import { type Chunk, type ChunkIndex, packedLimit, zeroChunkId } from '#shared/chunks/chunk-index.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A chunk in memory that another gets afterwards: anyone who has it releases it, once. */
export interface ChunkInMemory {
  readonly bytes: Buffer;
  readonly release: () => void;
}

export interface UnpackedChunk extends ChunkInMemory {
  /** The chunk as it was sent; gone with the others. */
  readonly packed: Buffer;
}

/** Memory for a fixed number of chunks, fewer of large ones, which are unpacked and compared with their ids by threads of their own. */
export interface ChunkMemory {
  /** How many chunks may be had for longer at a time: some places are left for those that only pass through. */
  readonly atOnce: number;
  /**
   * Unpacks what `receive` puts into memory of a byte more than the chunk may have packed.
   * @throws AppError `image_error` when it is not that chunk, `aborted`, `internal` when a thread died.
   */
  unpack(chunk: Chunk, receive: (into: Buffer) => Promise<Buffer>): Promise<UnpackedChunk>;
  /**
   * Gives the chunk that `read` brings: `undefined` when it is another chunk, or none. @throws AppError `aborted`,
   * `internal`.
   */
  read(chunk: Chunk, read: ReadChunkInto): Promise<ChunkInMemory | undefined>;
  close(): Promise<void>;
}

/** Fills memory, page-aligned and of the longest chunk and `marginBytes`; where the chunk begins, `undefined` = nowhere. */
export type ReadChunkInto = (into: Buffer) => Promise<number | undefined>;

/** A thread unpacks and hashes some 500 MiB a second: together more than most networks, and many disks, bring. */
const mostThreads = 4;
const pageBytes = 64 * 1024;
/** Bytes that are read of a disk beside a chunk: a sector before and one behind. */
const marginBytes = 2 * 4096;

/** Chunks of up to 1 MiB, casync's way to cut for images, are 20 at a time so; larger are fewer. */
const mostBytes = 64 * 1024 * 1024;
const mostPlaces = 20;
/** Neighbours send some before their turn, and some are held for later: they pass through. */
const passing = 4;

/** @param most how many chunks are in memory at most; others wait */
export function createChunkMemory(index: ChunkIndex, signal: AbortSignal, most = mostPlaces): ChunkMemory {
  const { sizes, digest } = index;
  const unpackedBytes = roundUp(sizes.max + marginBytes);
  const bytesEach = unpackedBytes + roundUp(packedLimit({ length: sizes.max }) + 1);
  const places = Math.min(most, Math.floor(mostBytes / bytesEach));
  const pool = createSlotPool(places, signal, bytesEach);
  openZlibBinding('zstd').close(); // throws where the threads could not use it
  const zeros = { id: zeroChunkId(index), memory: new SharedArrayBuffer(sizes.max) };
  const threads = startThreads({ digest, memory: pool.memory, zeros });
  return {
    atOnce: Math.max(1, places - passing),
    unpack: async (chunk, receive) => {
      const slot = await pool.acquire();
      try {
        const room = slot.bytes.subarray(unpackedBytes, unpackedBytes + packedLimit(chunk) + 1);
        const packed = await receive(room);
        requireZstd(packed, chunk);
        const { memoryOffset: offset } = slot;
        const job = { offset, length: chunk.length, packed: { offset: offset + unpackedBytes, length: packed.length } };
        const answer = await threads.do(job);
        if ('failure' in answer) {
          const message = `chunk ${chunk.id} can't be unpacked to its ${chunk.length} bytes`;
          throw new AppError('image_error', message, { cause: answer.failure });
        }
        if (answer.id !== chunk.id) {
          throw new AppError('image_error', `chunk ${chunk.id} has another content than the index says`);
        }
        return { bytes: slot.bytes.subarray(0, chunk.length), packed, release: slot.release };
      } catch (error) {
        slot.release();
        throw error;
      }
    },
    read: async ({ id, length }, read) => {
      const slot = await pool.acquire();
      let found = false;
      try {
        const from = await read(slot.bytes.subarray(0, unpackedBytes));
        if (from === undefined) return undefined;
        const answer = await threads.do({ offset: slot.memoryOffset + from, length });
        found = 'id' in answer && answer.id === id;
        return found ? { bytes: slot.bytes.subarray(from, from + length), release: slot.release } : undefined;
      } finally {
        if (!found) slot.release();
      }
    },
    close: threads.close,
  };
}

function startThreads(work: ChunkWork): Pick<ChunkThread, 'do' | 'close'> {
  const count = Math.min(mostThreads, availableParallelism());
  const threads = Array.from({ length: count }, () => startChunkThread(work));
  return {
    do: (job) => {
      const idlest = threads.reduce((best, each) => (each.waiting() < best.waiting() ? each : best));
      return idlest.do(job);
    },
    close: async () => {
      await Promise.all(threads.map((each) => each.close()));
    },
  };
}

/** @throws AppError `image_error` */
function requireZstd(packed: Buffer, { id }: Chunk): void {
  const compression = detectCompression(packed);
  if (compression === 'zstd') return;
  const is = compression === 'none' ? 'not compressed' : `compressed with ${compression}`;
  throw new AppError('image_error', `chunk ${id} is ${is}: it must be zstd (casync make --compression=zstd)`);
}

function roundUp(bytes: number): number {
  return Math.ceil(bytes / pageBytes) * pageBytes;
}
