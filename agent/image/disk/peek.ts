import { type Slot, slotBytes } from '#agent/image/decode/slot-pool.ts';
import type { ImageRest } from '#agent/image/disk/image-rest.ts';
import type { ReadPiece } from '#agent/image/fetch/range-reader.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Slots that may wait until it is known that the image will do; the rest of the pool keeps the download going. */
const maxHeld = 5;

/** An image's slots, some of which were looked at before the first is taken. */
export interface Peeked extends ImageRest {
  /** The first slot's bytes. */
  readonly head: Buffer;
  /** All of them, from the first. */
  readonly all: () => AsyncGenerator<Slot>;
  readonly close: () => Promise<void>;
}

/**
 * Lets the image be looked into before the disk is opened: by holding its first slots, and behind those by ranges where
 * the image comes as it is.
 * @param file the image's length, where it is known, and a way to read out of order, where there is one
 * @throws AppError `image_error` for an empty image.
 */
export async function peekIntoImage(
  slots: AsyncGenerator<Slot>,
  { imageBytes, readPiece }: { readonly imageBytes: number | undefined; readonly readPiece: ReadPiece | undefined },
): Promise<Peeked> {
  const held: Slot[] = [];
  const state = { isWhole: false, hasRanges: readPiece !== undefined };
  const holdOne = async (): Promise<void> => {
    const next = await slots.next();
    if (next.done) state.isWhole = true;
    else held.push(next.value);
  };
  const heldBytes = (): number => held.reduce((sum, { length }) => sum + length, 0);
  await holdOne();
  const [first] = held;
  if (first === undefined) throw new AppError('image_error', 'the image is empty');
  return {
    head: first.bytes.subarray(0, first.length),
    imageBytes,
    look: async (offset, bytes) => {
      const end = Math.min(offset + bytes, imageBytes ?? Number.POSITIVE_INFINITY);
      if (end <= offset) return Buffer.alloc(0);
      if (end <= maxHeld * slotBytes || imageBytes === undefined) {
        while (heldBytes() < end && !state.isWhole && held.length < maxHeld) await holdOne();
      }
      if (heldBytes() >= end || state.isWhole) return piece(held, offset, end);
      if (!state.hasRanges) return undefined;
      // a server that gives no second connection, or no ranges, says nothing of the image, and is not asked again
      const found = await readPiece?.({ offset, bytes: end - offset }).catch(() => undefined);
      state.hasRanges = found !== undefined;
      return found;
    },
    async *all() {
      for (let slot = held.shift(); slot !== undefined; slot = held.shift()) yield slot;
      if (!state.isWhole) yield* slots;
    },
    close: async () => {
      for (const slot of held.splice(0)) slot.release();
      await slots.return(undefined);
    },
  };
}

/** A copy: the slots go on. */
function piece(held: readonly Slot[], from: number, to: number): Buffer {
  return Buffer.concat(held.map(({ bytes, length }) => bytes.subarray(0, length))).subarray(from, to);
}
