import { describe, expect, test } from 'vitest';
import type { Slot } from '#agent/image/decode/slot-pool.ts';
import { createClusterDecoder } from '#agent/image/qcow2/cluster-decoder.ts';
import { createExtentList } from '#agent/image/qcow2/extents.ts';
import { createFilePass } from '#agent/image/qcow2/file-pass.ts';
import { parseQcow2Header } from '#agent/image/qcow2/header.ts';
import { createHoleList } from '#agent/image/qcow2/holes.ts';
import type { PlacingWriter } from '#agent/image/qcow2/placing-writer.ts';
import { readMap } from '#agent/image/qcow2/read-map.ts';
import { makeQcow2, type Qcow2Options } from '#agent/image/testing/make-qcow2.ts';
import { AppError } from '#shared/errors/app-error.ts';
import * as fc from '#test/fuzz/fast-check.ts';

/** Images that somebody made to do harm. Whatever they say, the disk's bytes come from one place each or the image is refused. */

const disk = Buffer.alloc(96 * 1024);
for (let at = 0; at < 40_000; at += 4) disk.writeUInt32LE(((at * 2_654_435_761) % 0xffffffff) >>> 0, at);
disk.fill('shrinks', 50_000, 70_000);
/** A disk larger than this is refused before the tables are looked at. */
const maxDiskBytes = 4 * 1024 * 1024;
const pieceBytes = 5120;

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Feeds the file in small slots to a pass whose writer only takes notes. */
async function placedRanges(file: Buffer, knowsTables: boolean): Promise<{ ranges: Range[]; virtualBytes: number }> {
  const header = parseQcow2Header(file);
  const { virtualBytes, clusterBytes } = header;
  if (virtualBytes > maxDiskBytes) throw new AppError('storage_error', 'too small');
  const ranges: Range[] = [];
  const note = (guest: number, bytes: number): Promise<void> => {
    ranges.push({ from: guest, to: guest + bytes });
    return Promise.resolve();
  };
  const writer: PlacingWriter = {
    place: (slot, from, bytes, guest) => {
      expect(from + bytes).toBeLessThanOrEqual(slot.length);
      return note(guest, bytes);
    },
    placePacked: (_packed, guest) => note(guest, Math.min(clusterBytes, virtualBytes - guest)),
    zero: note,
    flush: () => Promise.resolve(),
    head: () => Buffer.alloc(0),
    writeHead: () => Promise.resolve(),
    sectorBytes: 512,
    writtenBytes: () => 0,
  };
  const read = ({ offset, bytes }: { offset: number; bytes: number }): Promise<Buffer> => {
    if (offset + bytes > file.length) return Promise.reject(new AppError('image_error', 'no such range'));
    return Promise.resolve(file.subarray(offset, offset + bytes));
  };
  const known = knowsTables ? await readMap(header, read, file.length) : undefined;
  const pass = createFilePass(header, known, file.length, writer);
  for (let at = 0; at < file.length; at += pieceBytes) await pass.take(slotOf(file.subarray(at, at + pieceBytes)), at);
  await pass.finish();
  for (const { guest, bytes } of known?.map.holes ?? []) await note(guest, bytes);
  return { ranges, virtualBytes };
}

function slotOf(bytes: Buffer): Slot {
  return { bytes, memoryOffset: 0, length: bytes.length, retain: () => undefined, release: () => undefined };
}

/** Every byte of the disk once; or the image is refused as what it is. */
async function verdict(file: Buffer, knowsTables: boolean): Promise<string> {
  try {
    const { ranges, virtualBytes } = await placedRanges(file, knowsTables);
    let end = 0;
    for (const { from, to } of ranges.sort((a, b) => a.from - b.from)) {
      if (from !== end) return `bytes ${end} to ${from} are written twice or not at all`;
      end = to;
    }
    return end === virtualBytes ? 'written' : `the disk ends at ${end}`;
  } catch (error) {
    if (error instanceof AppError && ['image_error', 'not_supported', 'storage_error'].includes(error.code)) {
      return 'refused';
    }
    throw error;
  }
}

const layouts: readonly Qcow2Options[] = (['before data', 'behind data'] as const).flatMap((tables) =>
  [9, 10, 12].flatMap((clusterBits) => [
    { tables, clusterBits },
    { tables, clusterBits, compression: 'deflate' as const },
  ]),
);
const files = layouts.map((layout) => makeQcow2(disk, layout));

test.each([...files.entries()])('image %i is good to begin with', async (_index, file) => {
  expect(await verdict(file, true)).toBe('written');
});

describe('whatever is changed in an image', () => {
  const number = fc.oneof(
    fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }),
    // what looks like an entry of a table, of a cluster that is there
    fc
      .tuple(fc.nat(255), fc.constantFrom(0n, 1n, 1n << 63n, 1n << 62n))
      .map(([cluster, bits]) => bits | BigInt(cluster * 512)),
  );
  const change = fc.record({ at: fc.nat(), value: number });

  test.each([true, false])('with tables known beforehand: %s', async (knowsTables) => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(files.length - 1),
        fc.array(change, { minLength: 1, maxLength: 6 }),
        async (index, changes) => {
          const file = Buffer.from(files[index] ?? Buffer.alloc(0));
          const start = 96; // the header's own fields have tests of their own
          for (const { at, value } of changes) {
            file.writeBigUInt64BE(value, start + Math.floor(((at * 8) % (file.length - start - 8)) / 8) * 8);
          }
          expect(['written', 'refused']).toContain(await verdict(file, knowsTables));
        },
      ),
      { numRuns: 1500 },
    );
  });

  test('cut anywhere', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(files.length - 1), fc.nat(), async (index, at) => {
        const file = files[index] ?? Buffer.alloc(0);
        const cut = file.subarray(0, Math.floor((at % file.length) / 512) * 512);
        expect(['written', 'refused']).toContain(await verdict(cut, true));
      }),
      { numRuns: 300 },
    );
  });
});

describe('tables that', () => {
  const clusterBytes = 512;
  const good = files[0] ?? Buffer.alloc(0);
  const l1At = clusterBytes;
  const firstL2 = Number(good.readBigUInt64BE(l1At) & 0x00ff_ffff_ffff_fe00n);
  const entry = (offset: number): bigint => (1n << 63n) | BigInt(offset);
  test.each<[string, number, bigint]>([
    ['are the first table itself', l1At, entry(l1At)],
    ['are the header', l1At, entry(0) | 1n],
    ['are named twice', l1At + 8, good.readBigUInt64BE(l1At)],
    ['are behind the end', l1At, entry(1 << 30)],
    ['name a cluster twice', firstL2 + 8, good.readBigUInt64BE(firstL2)],
    ['name a cluster behind the end', firstL2, entry(1 << 30)],
    ['name the header as a cluster', firstL2, entry(0) | 2n],
    [
      'name a packed cluster within another cluster',
      firstL2,
      (1n << 62n) | BigInt(Number(good.readBigUInt64BE(firstL2 + 8) & 0xffffffn) + 7),
    ],
    ['have bits set that mean nothing', firstL2, entry(firstL2) | (1n << 57n)],
  ])('%s are refused', async (_name, at, value) => {
    const file = Buffer.from(good);
    file.writeBigUInt64BE(value, at);
    expect(await verdict(file, true)).toBe('refused');
    expect(await verdict(file, false)).toBe('refused');
  });
});

describe('memory', () => {
  test('extents are limited', () => {
    const list = createExtentList(3);
    const add = (host: number) => list.add({ host, bytes: 512, guest: 0, packed: false });
    for (const host of [0, 1024, 4096]) add(host);
    expect(() => add(8192)).toThrow(/in more than 3 pieces: convert it with larger clusters/);
  });

  test('neighbours are one extent, but never of one that may be in use', () => {
    const list = createExtentList();
    list.add({ host: 512, bytes: 512, guest: 0, packed: false });
    list.add({ host: 1024, bytes: 512, guest: 512, packed: false });
    expect(list.length()).toBe(1);
    list.sort(0);
    list.add({ host: 1536, bytes: 512, guest: 1024, packed: false });
    expect(list.length()).toBe(2);
  });

  test('holes are limited', () => {
    const list = createHoleList(2);
    list.add(0, 512);
    list.add(512, 512);
    list.add(4096, 512);
    expect([...list]).toEqual([
      { guest: 0, bytes: 1024 },
      { guest: 4096, bytes: 512 },
    ]);
    expect(() => list.add(8192, 512)).toThrow(/more than 2 holes/);
  });
});

test.each(['deflate', 'zstd'] as const)(
  'a packed cluster of any bytes (%s) is one cluster or refused',
  (compression) => {
    const decoder = createClusterDecoder({ compression, clusterBytes: 1024 });
    const into = Buffer.alloc(3072);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        into.fill(0xaa);
        let failure: unknown;
        try {
          decoder.decode(Buffer.from(bytes), into, 1024);
        } catch (error) {
          failure = error;
        }
        expect(failure === undefined || failure instanceof AppError).toBe(true);
        expect(into.subarray(0, 1024).every((byte) => byte === 0xaa)).toBe(true);
        expect(into.subarray(2048).every((byte) => byte === 0xaa)).toBe(true);
      }),
      { numRuns: 500 },
    );
    decoder.close();
  },
);
