import { AppError } from '#shared/errors/app-error.ts';

/** A range of the disk that reads as zeros; bytes. */
export interface Hole {
  readonly guest: number;
  readonly bytes: number;
}

export interface HoleList {
  /** Lengthens the last hole where this one goes on behind it. @throws AppError `not_supported` when there are too many. */
  add(guest: number, bytes: number): void;
  [Symbol.iterator](): Iterator<Hole>;
}

const maxHoles = 2_097_152;

/** Holes in one typed array, for the reason that extents are. */
export function createHoleList(limit = maxHoles): HoleList {
  let data = new Float64Array(2048);
  let count = 0;
  return {
    add: (guest, bytes) => {
      const last = count - 1;
      if (count > 0 && (data[last * 2] ?? 0) + (data[last * 2 + 1] ?? 0) === guest) {
        data[last * 2 + 1] = (data[last * 2 + 1] ?? 0) + bytes;
        return;
      }
      if (count === limit) {
        throw new AppError(
          'not_supported',
          `the qcow2 image has more than ${limit} holes: convert it (qemu-img convert)`,
        );
      }
      if ((count + 1) * 2 > data.length) {
        const larger = new Float64Array(data.length * 2);
        larger.set(data);
        data = larger;
      }
      data.set([guest, bytes], count * 2);
      count += 1;
    },
    *[Symbol.iterator]() {
      for (let index = 0; index < count; index += 1) {
        yield { guest: data[index * 2] ?? 0, bytes: data[index * 2 + 1] ?? 0 };
      }
    },
  };
}
