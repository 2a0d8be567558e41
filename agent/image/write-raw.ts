import { type Compression, zstdContentSize } from '#agent/image/compression.ts';
import type { Disk } from '#agent/image/disk.ts';
import { createDiskWriter, type DiskWriter, tooSmall } from '#agent/image/disk-writer.ts';
import type { ImageSource } from '#agent/image/image-source.ts';
import { createSlotPool, type Slot } from '#agent/image/slot-pool.ts';
import type { WrittenBytes } from '#agent/image/write-image.ts';
import { decodeXz } from '#agent/image/xz-decoder.ts';
import { decodeZlib } from '#agent/image/zlib-decoder.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Slots for what is unpacked, as many as the download has. */
const poolSlots = 8;

/** Writes a raw image, unpacked on the way. @throws AppError as `writeImage`. */
export async function writeRaw(
  source: ImageSource,
  compression: Compression,
  target: { readonly name: string; readonly sizeBytes: number },
  openDisk: () => Promise<Disk>,
  checkHead: (head: Buffer) => void,
): Promise<WrittenBytes> {
  const expected = expectedSize(compression, source);
  if (expected !== undefined && expected > target.sizeBytes) throw tooSmall(target, expected);
  const openWriter = async (head: Buffer): Promise<DiskWriter> => {
    checkHead(head);
    return createDiskWriter(await openDisk(), compression === 'none' ? expected : undefined);
  };
  const { writer, imageBytes } = await pump(unpack(compression, source), openWriter);
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

/** Moves the slots to the disk, which is opened once the first one has passed. */
async function pump(
  slots: AsyncGenerator<Slot>,
  openWriter: (head: Buffer) => Promise<DiskWriter>,
): Promise<{ readonly writer: DiskWriter; readonly imageBytes: number }> {
  let writer: DiskWriter | undefined;
  let offset = 0;
  for await (const slot of slots) {
    writer ??= await openWriter(slot.bytes.subarray(0, slot.length));
    const { length } = slot;
    await writer.write(slot, offset);
    offset += length;
  }
  if (writer === undefined) throw new AppError('image_error', 'the image is empty');
  return { writer, imageBytes: offset };
}
