import { type Compression, zstdContentSize } from '#agent/image/decode/compression.ts';
import { createSlotPool, type Slot } from '#agent/image/decode/slot-pool.ts';
import { decodeXz } from '#agent/image/decode/xz-decoder.ts';
import { decodeZlib } from '#agent/image/decode/zlib-decoder.ts';
import type { Disk } from '#agent/image/disk/disk.ts';
import { createDiskWriter, type DiskWriter, tooSmall } from '#agent/image/disk/disk-writer.ts';
import type { CheckHead, ImageTarget, WrittenBytes } from '#agent/image/disk/image-target.ts';
import { type Peeked, peekIntoImage } from '#agent/image/disk/peek.ts';
import type { ImageSource } from '#agent/image/fetch/image-source.ts';

/** Slots for what is unpacked, as many as the download has. */
const poolSlots = 8;

/** Writes a raw image, unpacked on the way. @throws AppError as `writeImage`. */
export async function writeRaw(
  source: ImageSource,
  compression: Compression,
  target: ImageTarget,
  openDisk: () => Promise<Disk>,
  checkHead: CheckHead,
): Promise<WrittenBytes> {
  const expected = expectedSize(compression, source);
  if (expected !== undefined && expected > target.sizeBytes) throw tooSmall(target, expected);
  // of several frames the first says nothing of the others
  const known = compression === 'none' ? expected : undefined;
  const peeked = await peekIntoImage(unpack(compression, source), {
    imageBytes: known,
    readPiece: known === undefined ? undefined : source.readPiece(known, { maxTries: 1 }),
  });
  const { writer, imageBytes } = await pump(peeked, async () => {
    await checkHead(peeked.head, peeked);
    return createDiskWriter(await openDisk(), known);
  });
  await source.verify();
  await writer.flush();
  await writer.writeFirstSlot();
  const head = writer.firstSlot();
  return {
    imageBytes,
    writtenBytes: writer.writtenBytes(),
    downloadedBytes: source.download.doneBytes(),
    format: 'raw',
    compression,
    head: Buffer.from(head?.bytes.subarray(0, head.length) ?? []),
  };
}

/** Bytes that the image will cover, as far as its beginning shows. */
function expectedSize(compression: Compression, source: ImageSource): number | undefined {
  if (compression === 'none') return source.download.totalBytes();
  return compression === 'zstd' ? zstdContentSize(source.head) : undefined;
}

function unpack(compression: Compression, { slots, signal }: ImageSource): AsyncGenerator<Slot> {
  if (compression === 'none') return slots;
  const pool = createSlotPool(poolSlots, signal);
  return compression === 'xz' ? decodeXz(slots, pool, signal) : decodeZlib(compression, slots, pool);
}

/** Moves the slots to the disk once it is open. */
async function pump(
  slots: Peeked,
  openWriter: () => Promise<DiskWriter>,
): Promise<{ readonly writer: DiskWriter; readonly imageBytes: number }> {
  let offset = 0;
  try {
    const writer = await openWriter();
    for await (const slot of slots.all()) {
      const { length } = slot;
      await writer.write(slot, offset);
      offset += length;
    }
    return { writer, imageBytes: offset };
  } finally {
    await slots.close();
  }
}
