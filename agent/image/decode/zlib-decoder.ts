import type { Slot, SlotPool } from '#agent/image/decode/slot-pool.ts';
import { finish, noFlush, openZlibBinding } from '#agent/image/decode/zlib-binding.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Unpacks gzip or zstd slots into slots of `pool`: every one full but the last. */
export async function* decodeZlib(
  format: 'gzip' | 'zstd',
  packed: AsyncIterable<Slot>,
  pool: SlotPool,
): AsyncGenerator<Slot> {
  const binding = openZlibBinding(format);
  let failure: string | undefined;
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a callback of the binding, not of an EventTarget
  binding._handle.onerror = (message) => {
    failure = message;
  };
  const decode = (flush: number, input: Uint8Array, offset: number, bytes: number, out: Slot): number => {
    binding._handle.writeSync(flush, input, offset, bytes, out.bytes, out.length, out.bytes.length - out.length);
    if (failure !== undefined) throw decodeError(format, failure);
    const [outputLeft = 0, inputLeft = 0] = binding._writeState;
    out.length = out.bytes.length - outputLeft;
    return inputLeft;
  };
  let out = await pool.acquire();
  try {
    for await (const slot of packed) {
      let left = slot.length;
      for (;;) {
        const before = { left, outputBytes: out.length };
        left = decode(noFlush(format), slot.bytes, slot.length - left, left, out);
        if (out.length === out.bytes.length) {
          yield out;
          out = await pool.acquire();
        } else if (left === 0) {
          break;
        } else if (left === before.left && out.length === before.outputBytes) {
          // gzip(1) passes over zeros that fill up the last block
          const isPadded = format === 'gzip' && isZero(slot.bytes.subarray(slot.length - left, slot.length));
          if (!isPadded) throw decodeError(format, 'there is something behind its end');
          break;
        }
      }
      slot.release();
    }
    // a stream that was cut short fails here and nowhere else
    for (;;) {
      decode(finish(format), out.bytes, 0, 0, out);
      if (out.length < out.bytes.length) break;
      yield out;
      out = await pool.acquire();
    }
    if (out.length > 0) {
      yield out;
    } else {
      out.release();
    }
  } finally {
    binding.close();
  }
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

/** In place of what the libraries say. */
const plainWords: Readonly<Record<string, string>> = {
  'unexpected end of file': 'it is cut short',
  'Frame requires too much memory for decoding': 'it needs more than 128 MiB of memory: make it without --long',
};

function decodeError(format: string, message: string): AppError {
  const text = plainWords[message] ?? message;
  return new AppError('image_error', `unpack the ${format} image: ${text}`);
}
