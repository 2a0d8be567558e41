import { brokenQcow2 } from '#agent/image/qcow2/header.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A piece of the file and the place on the disk that it belongs to; in bytes. */
export interface Extent {
  /** Where it begins in the file. */
  readonly host: number;
  /** Length in the file; of a packed cluster an upper bound, up to 511 too many. */
  readonly bytes: number;
  /** Where it goes on the disk. */
  readonly guest: number;
  /** One compressed cluster. */
  readonly packed: boolean;
}

export interface ExtentList {
  readonly length: () => number;
  /** Lengthens the extent added last where this one goes on behind it. @throws AppError `not_supported` when there are too many. */
  add(extent: Extent): void;
  /**
   * Brings those from index `from` on into the order of the file.
   * @throws AppError `image_error` when two of them share bytes.
   */
  sort(from: number): void;
  at(index: number): Extent;
}

const columns = 3;
/** 48 MB of memory; compressed, 128 GiB of data in clusters of 64 KiB. */
const maxExtents = 2_097_152;

/**
 * Extents in one typed array: as objects, those of a large compressed image would take hundreds of MB of a ramdisk.
 * A packed one has its length stored negative.
 */
export function createExtentList(limit = maxExtents): ExtentList {
  let data = new Float64Array(columns * 1024);
  let count = 0;
  /** Extents before this index may be in use already: none of them grows. */
  let sealed = 0;
  let order: Uint32Array | undefined;
  const field = (index: number, column: number): number => data[index * columns + column] ?? 0;
  const place = (index: number): number => order?.[index] ?? index;
  const read = (at: number): Extent => {
    const bytes = field(at, 1);
    return { host: field(at, 0), bytes: Math.abs(bytes), guest: field(at, 2), packed: bytes < 0 };
  };
  const list: ExtentList = {
    length: () => count,
    add: ({ host, bytes, guest, packed }) => {
      if (count > sealed && !packed) {
        const last = read(count - 1);
        if (!last.packed && last.host + last.bytes === host && last.guest + last.bytes === guest) {
          data[(count - 1) * columns + 1] = last.bytes + bytes;
          return;
        }
      }
      if (count === limit) {
        throw new AppError(
          'not_supported',
          `the qcow2 image is in more than ${limit} pieces: convert it with larger clusters (qemu-img convert -o cluster_size=2M)`,
        );
      }
      if ((count + 1) * columns > data.length) {
        const larger = new Float64Array(data.length * 2);
        larger.set(data);
        data = larger;
      }
      data.set([host, packed ? -bytes : bytes, guest], count * columns);
      count += 1;
    },
    sort: (from) => {
      sealed = count;
      order = sortedOrder(order, from, count, (index) => field(index, 0));
      for (let index = from + 1; index < count; index += 1) {
        requireNoOverlap(read(place(index - 1)), read(place(index)));
      }
    },
    at: (index) => read(place(index)),
  };
  return list;
}

/** The permutation that sorts; `undefined` where everything is in order already, as in most images. */
function sortedOrder(
  before: Uint32Array | undefined,
  from: number,
  count: number,
  host: (index: number) => number,
): Uint32Array | undefined {
  const order = Uint32Array.from({ length: count }, (_, index) =>
    before !== undefined && index < before.length ? (before[index] ?? index) : index,
  );
  order.subarray(from).sort((a, b) => host(a) - host(b));
  return order.every((value, index) => value === index) ? undefined : order;
}

/** Packed clusters begin where the one before really ends, which its length in sectors overstates. */
function requireNoOverlap(before: Extent, next: Extent): void {
  const slack = before.packed && next.packed ? 511 : 0;
  const end = before.host + before.bytes - slack;
  if (next.host >= end && next.host > before.host) return;
  throw brokenQcow2(`two clusters share the bytes at ${next.host}`);
}
