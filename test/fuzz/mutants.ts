import * as fc from '#test/fuzz/fast-check.ts';

/** Counts and lengths at which readers go astray: none, one, all, and what is negative when read with a sign. */
const numbers = [0, 1, 0x7f, 0x80, 0xff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] as const;

type Change = (bytes: Buffer) => Buffer;

const changeOf = (length: number): fc.Arbitrary<Change> => {
  const at = fc.nat(Math.max(0, length - 1));
  return fc.oneof(
    fc.tuple(at, fc.nat(255)).map(
      ([place, byte]): Change =>
        (bytes) => {
          const changed = Buffer.from(bytes);
          if (place < changed.length) changed[place] = byte;
          return changed;
        },
    ),
    fc.tuple(at, fc.constantFrom(...numbers), fc.constantFrom(1, 2, 4, 8), fc.boolean()).map(
      ([place, number, size, isLittle]): Change =>
        (bytes) => {
          const field = Buffer.alloc(size, number > 0xff ? 0xff : 0);
          if (size >= 4 && isLittle) field.writeUInt32LE(number, 0);
          else if (size >= 4) field.writeUInt32BE(number, size - 4);
          else field.fill(number & 0xff);
          const changed = Buffer.from(bytes);
          field.copy(changed, place);
          return changed;
        },
    ),
    at.map(
      (place): Change =>
        (bytes) =>
          bytes.subarray(0, place),
    ),
    fc.tuple(at, fc.nat(16)).map(
      ([place, cut]): Change =>
        (bytes) =>
          Buffer.concat([bytes.subarray(0, place), bytes.subarray(place + cut)]),
    ),
    fc.tuple(at, fc.uint8Array({ maxLength: 16 })).map(
      ([place, more]): Change =>
        (bytes) =>
          Buffer.concat([bytes.subarray(0, place), more, bytes.subarray(place)]),
    ),
    // a piece that comes twice: names, tables, headers
    fc.tuple(at, at, fc.nat(64)).map(
      ([from, to, size]): Change =>
        (bytes) =>
          Buffer.concat([bytes.subarray(0, to), bytes.subarray(from, from + size), bytes.subarray(to)]),
    ),
  );
};

/** One of the samples with a few changes; mostly near its beginning, where headers are. */
export function mutantsOf(samples: readonly Buffer[]): fc.Arbitrary<Buffer> {
  return fc
    .constantFrom(...samples)
    .chain((sample) =>
      fc
        .array(fc.oneof(changeOf(Math.min(sample.length, 512)), changeOf(sample.length)), { maxLength: 4 })
        .map((changes) => changes.reduce<Buffer>((bytes, change) => change(bytes), Buffer.from(sample))),
    );
}
