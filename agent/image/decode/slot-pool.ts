import { AppError } from '#shared/errors/app-error.ts';

/** One slot is the unit of everything in the image pipeline: of reading, hashing, decoding and writing. */
export const slotBytes = 1024 * 1024;

/** A piece of the pool on its way through the pipeline; anyone who keeps it retains it, and the last release frees it. */
export interface Slot {
  /** The whole slot, aligned for direct I/O; the first `length` bytes are filled. */
  readonly bytes: Buffer;
  /** Where the slot lies in the pool's memory: with it another thread finds the bytes. */
  readonly memoryOffset: number;
  length: number;
  retain(): void;
  readonly release: () => void;
}

export interface SlotPool {
  readonly memory: SharedArrayBuffer;
  /** An empty slot held once; waits until one is free. @throws AppError `aborted` once the pool's signal has fired. */
  acquire(): Promise<Slot>;
}

const wasmPageBytes = 65_536;

// the types of Node 24 name WebAssembly as a namespace only
declare const WebAssembly: {
  readonly Memory: new (options: {
    initial: number;
    maximum: number;
    shared: true;
  }) => { readonly buffer: SharedArrayBuffer };
};

/**
 * A fixed number of 1 MiB buffers that are used over and over. Fresh buffers for every chunk cost four times the
 * processor time of the decoding itself, in page faults, and let memory grow until the next garbage collection.
 * The memory is a WebAssembly memory, because that is the one kind that JavaScript gets page-aligned (O_DIRECT wants
 * it), and shared, so that a worker hashes it in place.
 * @param bytesEach of a buffer, a multiple of 64 KiB
 */
export function createSlotPool(count: number, signal?: AbortSignal, bytesEach = slotBytes): SlotPool {
  const pages = (count * bytesEach) / wasmPageBytes;
  const memory = new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true }).buffer;
  const free: Slot[] = [];
  const waiting: ((slot: Slot) => void)[] = [];
  const give = (slot: Slot): void => {
    const next = waiting.shift();
    if (next) next(slot);
    else free.push(slot);
  };
  for (let index = 0; index < count; index += 1) free.push(createSlot(memory, index * bytesEach, bytesEach, give));
  const handOut = (slot: Slot): Slot => {
    slot.length = 0;
    slot.retain();
    return slot;
  };
  const wait = async (): Promise<Slot> => {
    const freed = Promise.withResolvers<Slot>();
    const onAbort = (): void => {
      const at = waiting.indexOf(freed.resolve);
      if (at === -1) return; // it got its slot in this very turn
      waiting.splice(at, 1);
      freed.reject(stopped(signal));
    };
    waiting.push(freed.resolve);
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await freed.promise;
    } finally {
      signal?.removeEventListener('abort', onAbort);
    }
  };
  return {
    memory,
    acquire: async () => {
      if (signal?.aborted) throw stopped(signal);
      return handOut(free.pop() ?? (await wait()));
    },
  };
}

function stopped(signal: AbortSignal | undefined): AppError {
  return new AppError('aborted', 'waiting for a buffer was stopped', { cause: signal?.reason });
}

function createSlot(
  memory: SharedArrayBuffer,
  memoryOffset: number,
  bytesEach: number,
  free: (slot: Slot) => void,
): Slot {
  let holders = 0;
  const slot: Slot = {
    bytes: Buffer.from(memory, memoryOffset, bytesEach),
    memoryOffset,
    length: 0,
    retain: () => {
      holders += 1;
    },
    release: () => {
      holders -= 1;
      if (holders === 0) free(slot);
    },
  };
  return slot;
}
