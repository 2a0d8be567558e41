import type { Disk } from '#agent/image/disk/disk.ts';
import { tooSmall } from '#agent/image/disk/disk-writer.ts';
import type { CheckHead, ImageTarget, WrittenBytes } from '#agent/image/disk/image-target.ts';
import type { ImageSource } from '#agent/image/fetch/image-source.ts';
import { type ClusterDecoder, createClusterDecoder } from '#agent/image/qcow2/cluster-decoder.ts';
import { createFilePass } from '#agent/image/qcow2/file-pass.ts';
import { brokenQcow2, parseQcow2Header, type Qcow2Header } from '#agent/image/qcow2/header.ts';
import { createPlacingWriter, type PlacingWriter } from '#agent/image/qcow2/placing-writer.ts';
import { type ReadMap, readDisk, readHeadMap, readMap } from '#agent/image/qcow2/read-map.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Bytes that `checkHead` gets to see before the disk is touched: partition tables, superblocks. */
const peekBytes = 128 * 1024;
/** How much of the file is read for that from a server without ranges. */
const skippedBytes = 64 * 1024 * 1024;

/**
 * Writes a qcow2 image without staging it. Its tables are read by HTTP ranges; then the file goes by once, in its own
 * order, hashed as served, while each cluster goes to its place: so the bytes that the checksum covers are the bytes
 * that are written, without a second download. The tables that pass must be those that were read.
 * From a server without ranges the tables are taken as they pass, which must be before the data they speak of.
 * @throws AppError as `writeImage`.
 */
export async function writeQcow2(
  source: ImageSource,
  target: ImageTarget,
  openDisk: () => Promise<Disk>,
  checkHead: CheckHead,
): Promise<WrittenBytes> {
  const header = parseQcow2Header(source.head);
  if (header.virtualBytes > target.sizeBytes) throw tooSmall(target, header.virtualBytes);
  const fileBytes = source.download.totalBytes();
  if (fileBytes === undefined) {
    throw new AppError('not_supported', 'the server does not say how long the qcow2 image is (Content-Length)');
  }
  if (header.clusterBytes < target.logicalSectorBytes) {
    throw new AppError(
      'not_supported',
      `the qcow2 image has clusters of ${header.clusterBytes} bytes, disk ${target.name} sectors of ${target.logicalSectorBytes}`,
    );
  }
  const decoder = createClusterDecoder(header);
  try {
    const { known, check } = await readTables(source, header, fileBytes, decoder, checkHead);
    const disk = await openDisk();
    const writer = await createPlacingWriter(disk, header, decoder, source.signal);
    await place(source, header, known, fileBytes, writer);
    await source.verify();
    await check(writer.head());
    await writer.flush();
    await writer.writeHead();
    return {
      imageBytes: header.virtualBytes,
      writtenBytes: writer.writtenBytes(),
      downloadedBytes: source.download.doneBytes(),
      format: 'qcow2',
      compression: 'none',
      head: Buffer.from(writer.head()),
    };
  } finally {
    decoder.close();
  }
}

interface ReadTables {
  /** All tables; `undefined` where they will only be seen as the file goes by. */
  readonly known: ReadMap | undefined;
  readonly check: (head: Buffer) => Promise<void>;
}

/** Reads the tables, where servers give ranges, and has the disk's beginning checked in any case. */
async function readTables(
  source: ImageSource,
  header: Qcow2Header,
  fileBytes: number,
  decoder: ClusterDecoder,
  checkHead: CheckHead,
): Promise<ReadTables> {
  const known = await readMap(header, source.readPiece(fileBytes), fileBytes);
  const read = source.readPiece(fileBytes, { skipTo: skippedBytes });
  const map = known?.map ?? (await readHeadMap(header, read, fileBytes, peekBytes));
  const head = map && (await readDisk(header, map, read, decoder, { offset: 0, bytes: peekBytes }));
  if (map === undefined || head === undefined) {
    throw new AppError(
      'not_supported',
      `the server gives no ranges, and the beginning of the disk is not in the first ${skippedBytes} bytes of the qcow2 image: what it holds can't be seen before the disk is overwritten. Serve it with ranges, or convert it (qemu-img convert)`,
    );
  }
  const check = async (bytes: Buffer): Promise<void> =>
    checkHead(bytes, {
      imageBytes: header.virtualBytes,
      look: async (offset, length) => {
        // without all tables it is known where the beginning is, and no more
        if (!known && offset + length > peekBytes) return undefined;
        return readDisk(header, map, read, decoder, { offset, bytes: length });
      },
    });
  await check(head);
  return { known, check };
}

/** The data as the file goes by, and beside it, where they are known, the zeros between. */
async function place(
  source: ImageSource,
  header: Qcow2Header,
  known: ReadMap | undefined,
  fileBytes: number,
  writer: PlacingWriter,
): Promise<void> {
  const state = { stopped: false };
  const zeroing = zeroHoles(known, writer, state);
  zeroing.catch(() => undefined); // awaited below, unless the pass fails first: then that error is the cause
  try {
    const pass = createFilePass(header, known, fileBytes, writer);
    let offset = 0;
    for await (const slot of source.slots) {
      const { length } = slot;
      await pass.take(slot, offset);
      offset += length;
    }
    if (offset !== fileBytes) throw brokenQcow2(`${offset} bytes came where ${fileBytes} were announced`);
    await pass.finish();
    await zeroing;
  } finally {
    state.stopped = true;
    await zeroing.catch(() => undefined); // already thrown above, or follows from it; the caller may close the disk only when writes have ended
  }
}

/** Each call to the device is a process of some milliseconds: several at a time keep them off the critical path. */
const zeroingAtOnce = 4;

async function zeroHoles(
  known: ReadMap | undefined,
  writer: PlacingWriter,
  state: { readonly stopped: boolean },
): Promise<void> {
  const holes = (known?.map.holes ?? [])[Symbol.iterator]();
  const work = async (): Promise<void> => {
    for (let next = holes.next(); !next.done && !state.stopped; next = holes.next()) {
      await writer.zero(next.value.guest, next.value.bytes);
    }
  };
  const done = await Promise.allSettled(Array.from({ length: zeroingAtOnce }, work));
  const failed = done.find(({ status }) => status === 'rejected');
  if (failed?.status === 'rejected') throw failed.reason;
}
