import { randomBytes } from 'node:crypto';
import { zstdCompressSync } from 'node:zlib';
import { expect, onTestFinished, test } from 'vitest';
import { type ChunkMemory, createChunkMemory } from '#agent/image/one-chunk/chunk-memory.ts';
import { type Chunk, chunkId } from '#shared/chunks/chunk-index.ts';
import { errorChain } from '#shared/errors/app-error.ts';

const digest = 'sha256';
const max = 100_000;
const bytes = randomBytes(max - 1);
const chunk: Chunk = { offset: 0, length: bytes.length, id: chunkId(bytes, digest) };

/** Room for one chunk: what is not released shows at once. */
function createMemory(): ChunkMemory {
  const index = { imageBytes: max, digest, sizes: { min: 1, avg: max, max }, chunks: [chunk] } as const;
  const memory = createChunkMemory(index, new AbortController().signal, 1);
  onTestFinished(() => memory.close());
  return memory;
}

function unpack(memory: ChunkMemory, content: Buffer, of = chunk): Promise<Buffer> {
  const packed = zstdCompressSync(content);
  return memory
    .unpack(of, (into) => Promise.resolve(into.subarray(0, packed.copy(into))))
    .then((unpacked) => {
      const copy = Buffer.from(unpacked.bytes);
      unpacked.release();
      return copy;
    });
}

test('a chunk is unpacked; what is not it is refused, and its memory free again', async () => {
  const memory = createMemory();
  expect(await unpack(memory, bytes)).toEqual(bytes);
  const other = Buffer.from(bytes);
  other[max / 2] = (other[max / 2] ?? 0) ^ 1;
  const failure = async (content: Buffer): Promise<string> => unpack(memory, content).then(String, errorChain);
  expect(await failure(other)).toMatch(/another content than the index says/);
  expect(await failure(Buffer.concat([bytes, Buffer.from('more')]))).toMatch(/unpacked to its 99999 bytes/);
  expect(await failure(bytes.subarray(1))).toMatch(/unpacked to its 99999 bytes/);
  await expect(memory.unpack(chunk, () => Promise.reject(new Error('the link is down')))).rejects.toThrow('link');
  const cut = zstdCompressSync(bytes).subarray(0, -10);
  const broken = memory.unpack(chunk, (into) => Promise.resolve(into.subarray(0, cut.copy(into))));
  expect(await broken.then(String, errorChain)).toMatch(/unpacked to its 99999 bytes: unexpected end of file/);
  expect(await unpack(memory, bytes)).toEqual(bytes);
});

test('a chunk of several frames is unpacked, an empty one at its end too', async () => {
  const memory = createMemory();
  const unpackFrames = async (...frames: Buffer[]): Promise<Buffer> => {
    const packed = Buffer.concat(frames.map((frame) => zstdCompressSync(frame)));
    const unpacked = await memory.unpack(chunk, (into) => Promise.resolve(into.subarray(0, packed.copy(into))));
    const copy = Buffer.from(unpacked.bytes);
    unpacked.release();
    return copy;
  };
  const nothing = Buffer.alloc(0);
  expect(await unpackFrames(bytes, nothing)).toEqual(bytes);
  expect(await unpackFrames(bytes.subarray(0, 7), nothing, bytes.subarray(7))).toEqual(bytes);
  await expect(unpackFrames(bytes, Buffer.from('more'))).rejects.toThrow(/unpacked to its 99999 bytes/);
  await expect(unpackFrames(bytes.subarray(0, 7), nothing)).rejects.toThrow(/unpacked to its 99999 bytes/);
  expect(await unpackFrames(bytes)).toEqual(bytes);
});

test('what is read of a disk is the chunk, zeros too, or nothing', async () => {
  const memory = createMemory();
  const read = async (of: Chunk, content: Buffer): Promise<Buffer | undefined> => {
    const found = await memory.read(of, (into) => Promise.resolve(content.copy(into, 512) > 0 ? 512 : undefined));
    const copy = found && Buffer.from(found.bytes);
    found?.release();
    return copy;
  };
  const hole: Chunk = { offset: 0, length: max, id: chunkId(Buffer.alloc(max), digest) };
  expect(await read(chunk, bytes)).toEqual(bytes);
  expect(await read(hole, bytes)).toBeUndefined();
  expect(await read(hole, Buffer.alloc(max))).toEqual(Buffer.alloc(max));
  expect(await read(chunk, Buffer.alloc(max))).toBeUndefined();
  expect(await memory.read(chunk, () => Promise.resolve(undefined))).toBeUndefined();
  expect(await read(chunk, bytes)).toEqual(bytes);
});

test('large chunks are fewer at a time', async () => {
  const atOnce = async (largest: number): Promise<number> => {
    const index = { imageBytes: max, digest, sizes: { min: 1, avg: max, max: largest }, chunks: [chunk] } as const;
    const memory = createChunkMemory(index, new AbortController().signal);
    await memory.close();
    return memory.atOnce;
  };
  expect(await atOnce(1024 * 1024)).toBe(16);
  expect(await atOnce(4 * 1024 * 1024)).toBe(3);
});

test('who waits for a thread that has ended gets an error', async () => {
  const memory = createMemory();
  const waits = Promise.withResolvers<Buffer>();
  const unpacked = memory.unpack(chunk, () => waits.promise);
  await memory.close();
  waits.resolve(zstdCompressSync(bytes));
  await expect(unpacked).rejects.toMatchObject({ code: 'internal' });
});
