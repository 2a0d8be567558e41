/* oxlint-disable unicorn/require-post-message-target-origin -- a thread's messages, not a window's */
import { createHash, type Hash } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import type { Slot } from '#agent/image/decode/slot-pool.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A hash over slots in the order given, computed on another thread: it costs as much time as all the rest. */
export interface Hasher {
  /** Adds the slot's filled bytes; holds the slot until they are read. @throws AppError `internal` when the thread died. */
  update(slot: Slot): void;
  /** @returns the hex digest of everything added. @throws AppError `internal` when the thread died. */
  digest(): Promise<string>;
  close(): Promise<void>;
}

type Request = { readonly offset: number; readonly length: number } | 'digest';
type Answer = { readonly hex: string } | 'read';

/**
 * The thread starts with the second slot: what has one only, a chunk index or a small image, is hashed in less time.
 * @param memory the pool's memory that the slots belong to
 */
export function createHasher(algorithm: string, memory: SharedArrayBuffer): Hasher {
  const state = { first: undefined as Slot | undefined, thread: undefined as Hasher | undefined };
  return {
    update: (slot) => {
      if (state.first === undefined) {
        slot.retain();
        state.first = slot;
        return;
      }
      if (state.thread === undefined) {
        state.thread = startHashThread(algorithm, memory);
        state.thread.update(state.first);
        state.first.release();
      }
      state.thread.update(slot);
    },
    digest: async () => {
      if (state.thread) return state.thread.digest();
      const hash = hashOf(algorithm);
      const { first } = state;
      if (first) hash.update(first.bytes.subarray(0, first.length));
      return hash.digest('hex');
    },
    close: async () => {
      await state.thread?.close();
    },
  };
}

function hashOf(algorithm: string): Hash {
  try {
    return createHash(algorithm);
  } catch (cause) {
    throw new AppError('internal', `hash the image with ${algorithm}`, { cause });
  }
}

function startHashThread(algorithm: string, memory: SharedArrayBuffer): Hasher {
  const worker = new Worker(`(${hashOnThread.toString()})()`, {
    eval: true,
    name: 'image hash',
    workerData: { algorithm, memory },
  });
  const held: Slot[] = [];
  const state = { failure: undefined as AppError | undefined };
  const result = Promise.withResolvers<string>();
  result.promise.catch(() => undefined); // `digest` and `update` throw it; a pipeline that failed earlier calls neither
  const fail = (message: string, cause?: unknown): void => {
    state.failure ??= new AppError('internal', message, { cause });
    result.reject(state.failure);
    // else waits for a free slot would never end
    for (const slot of held.splice(0)) slot.release();
  };
  worker.on('message', (answer: Answer) => {
    if (answer === 'read') held.shift()?.release();
    else result.resolve(answer.hex);
  });
  worker.once('error', (cause) => fail(`hash the image with ${algorithm}`, cause));
  worker.once('exit', () => fail('the hashing thread ended before its answer'));
  const send = (request: Request): void => worker.postMessage(request);
  return {
    update: (slot) => {
      if (state.failure) throw state.failure;
      slot.retain();
      held.push(slot);
      send({ offset: slot.memoryOffset, length: slot.length });
    },
    digest: () => {
      send('digest');
      return result.promise;
    },
    close: async () => {
      await worker.terminate();
    },
  };
}

/**
 * Runs in the worker from its source text, so that the bundled agent stays one file: it must name nothing outside
 * itself, and hold no named function, to whose definition the bundler would add a call of its own helper.
 */
function hashOnThread(): void {
  const { parentPort, workerData } = process.getBuiltinModule('node:worker_threads');
  const { createHash } = process.getBuiltinModule('node:crypto');
  const { algorithm, memory } = workerData as { algorithm: string; memory: SharedArrayBuffer };
  const hash = createHash(algorithm);
  parentPort?.on('message', (request: Request) => {
    if (request === 'digest') {
      parentPort.postMessage({ hex: hash.digest('hex') });
    } else {
      hash.update(new Uint8Array(memory, request.offset, request.length));
      parentPort.postMessage('read');
    }
  });
}
