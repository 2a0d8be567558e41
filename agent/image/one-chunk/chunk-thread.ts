/* oxlint-disable unicorn/require-post-message-target-origin -- a thread's messages, not a window's */
import { Worker } from 'node:worker_threads';
import type { ZlibBinding } from '#agent/image/decode/zlib-binding.ts';
import type { ChunkIndex } from '#shared/chunks/chunk-index.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Where a chunk lies in the shared memory, and what is to be unpacked there first. */
export interface ChunkJob {
  readonly offset: number;
  readonly length: number;
  readonly packed?: { readonly offset: number; readonly length: number };
}

/** The digest of the chunk, or why it can't be unpacked to its length. */
export type ChunkAnswer = { readonly id: string } | { readonly failure: string };

export interface ChunkThread {
  /** How many jobs it has not answered yet. */
  waiting(): number;
  /** @throws AppError `internal` when the thread died. */
  do(job: ChunkJob): Promise<ChunkAnswer>;
  close(): Promise<void>;
}

/** Data that a thread works on. */
export interface ChunkWork {
  readonly digest: ChunkIndex['digest'];
  /** Where the chunks lie; there must be a byte behind each that is unpacked. */
  readonly memory: SharedArrayBuffer;
  /** The longest chunk, of zeros, and its digest: most of a new disk, and of an image's holes; to compare is ten times as quick. */
  readonly zeros: { readonly id: string; readonly memory: SharedArrayBuffer };
}

/** Starts a thread that unpacks chunks, and hashes them. */
export function startChunkThread(work: ChunkWork): ChunkThread {
  const worker = new Worker(`(${unpackAndHash.toString()})()`, { eval: true, name: 'image chunks', workerData: work });
  const waiting: PromiseWithResolvers<ChunkAnswer>[] = [];
  const state = { failure: undefined as AppError | undefined };
  const fail = (message: string, cause?: unknown): void => {
    state.failure ??= new AppError('internal', message, { cause });
    for (const each of waiting.splice(0)) each.reject(state.failure);
  };
  worker.on('message', (answer: ChunkAnswer) => waiting.shift()?.resolve(answer));
  worker.once('error', (cause) => fail('unpack chunks of the image', cause));
  worker.once('exit', () => fail('a thread for chunks of the image ended before its answer'));
  return {
    waiting: () => waiting.length,
    do: (job) => {
      const answer = Promise.withResolvers<ChunkAnswer>();
      if (state.failure) answer.reject(state.failure);
      else {
        waiting.push(answer);
        worker.postMessage(job);
      }
      return answer.promise;
    },
    close: async () => {
      await worker.terminate();
    },
  };
}

/** Runs in the thread from its source text, under the rules of `hashOnThread` in `../hasher.ts`. */
function unpackAndHash(): void {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  const { hash } = process.getBuiltinModule('node:crypto');
  const { constants, createZstdDecompress } = process.getBuiltinModule('node:zlib');
  const { digest, memory, zeros } = workerData as ChunkWork;
  const all = Buffer.from(memory);
  const allZeros = Buffer.from(zeros.memory);
  const zstd = createZstdDecompress() as unknown as ZlibBinding;
  const state = { failure: undefined as string | undefined };
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a callback of the binding, not of an EventTarget
  zstd._handle.onerror = (message) => {
    state.failure = message;
  };
  parentPort?.on('message', ({ offset, length, packed }: ChunkJob) => {
    state.failure = undefined;
    if (packed) {
      zstd._handle.reset();
      // with room for one byte more: a chunk that is longer is seen by it
      let left = { output: length + 1, input: packed.length };
      // frame after frame: a store may have several in a chunk (RFC 8878, 3)
      for (let isMoving = true; isMoving && left.input > 0 && state.failure === undefined; ) {
        const [from, to] = [packed.offset + packed.length - left.input, offset + length + 1 - left.output];
        zstd._handle.writeSync(constants.ZSTD_e_end, all, from, left.input, all, to, left.output);
        const [output = 0, input = 0] = zstd._writeState;
        isMoving = input < left.input;
        left = { output, input };
      }
      if (left.output !== 1 || left.input !== 0) state.failure ??= 'it has another length';
    }
    const { failure } = state;
    const chunk = all.subarray(offset, offset + length);
    if (failure !== undefined) parentPort.postMessage({ failure });
    else parentPort.postMessage({ id: chunk.equals(allZeros) ? zeros.id : hash(digest, chunk) });
  });
}
