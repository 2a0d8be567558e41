import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { checkTable, type TableUse } from '#agent/image/disk/check-table.ts';
import type { ImageRest } from '#agent/image/disk/image-rest.ts';
import { makeHead, parseDump, type TableLayout } from '#agent/image/testing/make-table.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import * as fc from '#test/fuzz/fast-check.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

const mib = 1024 * 1024;
const gib = 1024 * mib;
const esp = 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b';
const linux = '0fc63daf-8483-4772-8e79-3d69d8477de4';
const drive = Buffer.alloc(400 * 1024);

/** An image of which no more is known than its first MiB and its length. */
const closed = (layout: TableLayout): ImageRest => ({
  imageBytes: layout.sectors * layout.sectorBytes,
  look: () => Promise.resolve(undefined),
});

async function check(
  layout: TableLayout,
  disk: { readonly sizeBytes?: number; readonly logicalSectorBytes?: number } = {},
  use: TableUse = {},
  rest: Partial<ImageRest> & { readonly head?: Buffer } = {},
): Promise<string> {
  const target = { name: '/dev/vda', sizeBytes: 10 * gib, logicalSectorBytes: layout.sectorBytes, ...disk };
  const { head = makeHead(layout), ...others } = rest;
  return checkTable(head, { ...closed(layout), ...others }, target, use).then(() => 'fits', errorChain);
}

/** Partitions one behind the other, each of so many MiB, from 1 MiB on. */
function layOut(label: 'gpt' | 'dos', sizesMib: readonly number[], fields: Partial<TableLayout> = {}): TableLayout {
  const sectorBytes = fields.sectorBytes ?? 512;
  const perMib = mib / sectorBytes;
  let start = perMib;
  const partitions = sizesMib.map((size, index) => {
    const partition = { number: index + 1, start, size: size * perMib, type: label === 'gpt' ? linux : '83' };
    start += size * perMib;
    return partition;
  });
  return { label, sectorBytes, sectors: start + perMib, partitions, ...fields };
}

/** A look into an image with an ext file system at these bytes. */
const withExtAt = (...places: readonly number[]): Partial<ImageRest> => ({
  look: async (offset, bytes) => {
    const found = Buffer.alloc(bytes);
    if (!places.includes(offset)) return found;
    found.writeUInt16LE(0xef53, 1080);
    found.writeUInt32LE(2, 1048);
    found.writeUInt32LE(32_768, 1056);
    return found;
  },
});

describe('recorded tables', async () => {
  const Case = z.strictObject({
    disk: z.strictObject({ mib: z.number(), sectors: z.union([z.literal(512), z.literal(4096)]).default(512) }),
    uefi: z.boolean().default(false),
    drive: z.boolean().default(false),
    /** `fits`, or a part of the refusal. */
    says: z.string(),
  });
  const recordings = await readRecordings('images/tables', z.array(Case).min(1));

  test.each(recordings.map((recording) => [recording.name, recording] as const))('%s', async (_name, recording) => {
    const { dump, mbr } = z
      .object({ dump: z.string(), mbr: z.string().optional() })
      .parse({ dump: recording.outputs['sfdisk --dump'], mbr: recording.outputs['sfdisk --dump --label-nested dos'] });
    const parsed = parseDump(dump);
    const layout = mbr === undefined ? parsed : { ...parsed, mbr: parseDump(mbr).partitions };
    for (const { disk, uefi, drive: hasDrive, says } of recording.reading) {
      const target = { sizeBytes: disk.mib * mib, logicalSectorBytes: disk.sectors };
      const use = { bootMode: uefi ? ('uefi' as const) : ('bios' as const), drive: hasDrive ? drive : undefined };
      const said = await check(layout, target, use);
      expect(said).toMatch(says === 'fits' ? /^fits$/ : says);
    }
  });
});

describe('sectors of an MBR', () => {
  const image = layOut('dos', [20, 42]);
  const big = { logicalSectorBytes: 4096, sizeBytes: 1000 * gib };

  test('an image for 512 bytes is refused on a disk of 4096 by what it holds', async () => {
    const said = await check(image, big, {}, { ...withExtAt(21 * mib), imageBytes: undefined });
    expect(said).toMatch(
      /for other sectors than the 4096 bytes .*partition 2 has ext at byte 22020096, where sectors of 512 bytes put it/,
    );
  });

  test('and by its length', async () => {
    expect(await check(image, big)).toMatch(/the image has 67108864 bytes, its partitions would end at 528482304/);
  });

  test('and where nothing shows what it is for', async () => {
    expect(await check(image, big, {}, { imageBytes: undefined })).toMatch(/nothing shows that it is for these/);
  });

  test('one for 4096 bytes fits there, and not on 512', async () => {
    const native = layOut('dos', [20, 42], { sectorBytes: 4096 });
    expect(await check(native)).toBe('fits');
    const found = { ...withExtAt(21 * mib), imageBytes: undefined };
    expect(await check(native, {}, {}, found)).toBe('fits');
    expect(await check(native, { logicalSectorBytes: 512 }, {}, found)).toMatch(/for other sectors than the 512 bytes/);
  });

  test('what is right for both passes on the usual sectors', async () => {
    expect(await check(image, {}, {}, { ...withExtAt(mib, 8 * mib), imageBytes: undefined })).toBe('fits');
    expect(await check(image, {}, {}, { imageBytes: undefined })).toBe('fits');
  });
});

test.each([
  ['none', Buffer.alloc(mib), /has no partition table: it is not a whole-disk image/],
  [
    'an Apple partition map',
    Buffer.alloc(mib).fill('PM\0\0', 512, 516, 'latin1'),
    /has an Apple partition map, which is no/,
  ],
  [
    'a Sun disk label',
    Buffer.alloc(mib).fill('dabe', 508, 510, 'hex'),
    /has a Sun disk label, which is no partition table/,
  ],
  [
    'a boot sector of its own kind',
    Buffer.alloc(mib).fill('55', 446, 500, 'hex').fill('55aa', 510, 512, 'hex'),
    /has a signed first sector whose entries are marked neither active nor inactive/,
  ],
])('an image with %s as its table is refused as that', async (_what, head, text) => {
  expect(await check(layOut('dos', [1]), {}, {}, { head })).toMatch(text);
});

describe('a GPT', () => {
  const image = layOut('gpt', [20, 42]);
  const head = makeHead(image);
  const changed = (change: (bytes: Buffer) => void): Buffer => {
    const bytes = Buffer.from(head);
    change(bytes);
    return bytes;
  };

  test.each<[string, Buffer, RegExp]>([
    ['its header is damaged', changed((bytes) => bytes.writeUInt8(1, 512 + 40)), /damaged: the checksum of its header/],
    [
      'its entries are damaged',
      changed((bytes) => bytes.writeUInt8(1, 1024 + 40)),
      /damaged: the checksum of its entries/,
    ],
    [
      'it is not behind the MBR that protects it',
      changed((bytes) => bytes.fill(0, 512)),
      /a protective MBR .* without a GPT/,
    ],
    ['nothing protects it', changed((bytes) => bytes.fill(0, 446, 510)), /has no protective MBR/],
    ['it has no partition', makeHead({ ...image, partitions: [] }), /has no partition in it/],
    [
      'partitions overlap',
      makeHead({ ...image, partitions: image.partitions.map((each) => ({ ...each, start: 2048 })) }),
      /partition 2 begins in sector 2048, where partition 1 is/,
    ],
    [
      'a partition begins in the table',
      makeHead({ ...image, partitions: [{ number: 1, start: 20, size: 4096, type: linux }] }),
      /partition 1 begins in sector 20, where the table itself is/,
    ],
    [
      'a partition ends before it begins',
      makeHead({ ...image, partitions: [{ number: 1, start: 4096, size: -5, type: linux }] }),
      /partition 1 ends in sector 4090, before it begins in 4096/,
    ],
  ])('is refused when %s', async (_what, bytes, text) => {
    expect(await check(image, {}, {}, { head: bytes })).toMatch(text);
  });

  test('left over beside an MBR with partitions of its own counts for nothing', async () => {
    const mbr = [{ number: 1, start: 2048, size: 4096, type: '83' }];
    expect(await check({ ...image, mbr }, { sizeBytes: 10 * mib })).toBe('fits');
  });

  test('of two is taken that for the sectors of the disk', async () => {
    const both = makeHead(image);
    const native = layOut('gpt', [20, 42], { sectorBytes: 4096, entriesAt: 20 });
    makeHead(native).copy(both, 4096, 4096, 8192);
    makeHead(native).copy(both, 20 * 4096, 20 * 4096, 24 * 4096);
    const small = { ...image, slots: 16 };
    makeHead(small).copy(both, 512, 512, 4096);
    for (const logicalSectorBytes of [512, 4096]) {
      expect(await check(image, { logicalSectorBytes }, {}, { head: both })).toBe('fits');
    }
  });

  test('with its entries further in is read there, or refused', async () => {
    const moved = { ...image, entriesAt: 2048 };
    const whole = Buffer.alloc(2 * mib);
    const entries = makeHead(image).subarray(1024, 1024 + 128 * 128);
    entries.copy(whole, mib);
    const at = makeHead(moved);
    const look = async (offset: number, bytes: number): Promise<Buffer> => whole.subarray(offset, offset + bytes);
    const tooEarly = /partition 1 begins in sector 2048, where the table itself is/;
    expect(await check(moved, {}, {}, { head: at, look })).toMatch(tooEarly);
    expect(await check(moved, {}, {}, { head: at })).toMatch(/entries in sector 2048, where they can't be checked/);
  });

  test('of a packed image tells that it can not fit', async () => {
    const disk = { sizeBytes: 63 * mib + 512 * 40 };
    expect(await check(image, disk, {}, { imageBytes: undefined })).toMatch(
      /too small: it has .* the image needs 67108864/,
    );
  });
});

test('an image for UEFI has an EFI system partition, or may have one', async () => {
  const uefi = { bootMode: 'uefi' } as const;
  const ofType = (label: 'gpt' | 'dos', type: string): TableLayout => ({
    ...layOut(label, [20]),
    partitions: [{ number: 1, start: 2048, size: 40_960, type }],
  });
  expect(await check(ofType('gpt', linux), {}, uefi)).toMatch(/no EFI system partition, and the machine boots by UEFI/);
  expect(await check(ofType('dos', '83'), {}, uefi)).toMatch(/no EFI system partition/);
  expect(await check(ofType('gpt', esp), {}, uefi)).toBe('fits');
  expect(await check(ofType('dos', 'ef'), {}, uefi)).toBe('fits');
  expect(await check(ofType('dos', '5'), {}, uefi)).toBe('fits');
  expect(await check(ofType('gpt', linux), {}, { bootMode: 'bios' })).toBe('fits');
});

test('an EFI system partition that Linux could not mount from such sectors is refused', async () => {
  const image = layOut('gpt', [20], { sectorBytes: 4096 });
  const layout = { ...image, partitions: image.partitions.map((each) => ({ ...each, type: esp })) };
  const fat = (sectorBytes: number): Partial<ImageRest> => ({
    look: async (_offset, bytes) => {
      const found = Buffer.alloc(bytes);
      found.write('FAT32', 82);
      found.writeUInt16LE(sectorBytes, 11);
      found.writeUInt16LE(0xaa55, 510);
      return found;
    },
  });
  expect(await check(layout, {}, { bootMode: 'uefi' }, fat(512))).toMatch(
    /EFI system partition has sectors of 512 bytes, which can't be mounted from disk .* with sectors of 4096/,
  );
  expect(await check(layout, {}, { bootMode: 'uefi' }, fat(4096))).toBe('fits');
  expect(await check(layout, {}, { bootMode: 'uefi' })).toBe('fits');
});

describe('room for the config drive', () => {
  const use = { drive };
  const four = layOut('dos', [10, 10, 10, 10]);
  const labelled = (at: number): Partial<ImageRest> => ({
    look: async (offset, bytes) => {
      const found = Buffer.alloc(bytes);
      if (offset !== at) return found;
      found.write('CD001', 32_769);
      found.write('config-2'.padEnd(32), 32_808);
      return found;
    },
  });

  test('an MBR with four partitions has none, but where one of them is meant for it', async () => {
    expect(await check(four, {}, use)).toMatch(/no place on disk .*all four slots of its MBR are taken/);
    expect(await check(four, {}, use, labelled(21 * mib))).toBe('fits');
    expect(await check(four)).toBe('fits');
    expect(await check(four, {}, { drive: Buffer.alloc(11 * mib) }, labelled(21 * mib))).toMatch(
      /partition config-2 \(3\) has 10485760 bytes for 11534336/,
    );
  });

  test('a full GPT has room where it can grow', async () => {
    const full = layOut('gpt', [10, 10], { slots: 2 });
    expect(await check(full, {}, use)).toBe('fits');
    const tight = { ...full, partitions: full.partitions.map((each, at) => ({ ...each, start: 10 + at * 20_480 })) };
    expect(await check(tight, {}, use)).toMatch(
      /all 2 entries of its GPT are taken, and its first partition leaves no/,
    );
  });

  test('a partition of that name is enough', async () => {
    const image = layOut('gpt', [10, 10]);
    const named = image.partitions.map((each) => ({ ...each, name: each.number === 1 ? 'CONFIG-2' : 'root' }));
    const disk = { sizeBytes: 23 * mib };
    expect(await check({ ...image, partitions: named }, disk, use)).toBe('fits');
    expect(await check(image, disk, use)).toMatch(/its partitions end at byte 22020096 of 24117248/);
    const twice = image.partitions.map((each) => ({ ...each, name: 'config-2' }));
    expect(await check({ ...image, partitions: twice }, disk, use)).toMatch(/2 partitions are labelled config-2/);
  });
});

test('no drawn table is accepted whose partitions end behind the disk, or that is for other sectors', async () => {
  const sectorBytes = fc.constantFrom(512, 4096);
  const drawn = fc.record({
    label: fc.constantFrom('gpt' as const, 'dos' as const),
    madeFor: sectorBytes,
    here: sectorBytes,
    sizesMib: fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 4 }),
    diskMib: fc.integer({ min: 2, max: 2000 }),
    packed: fc.boolean(),
  });
  const seen = { fits: 0, refused: 0 };
  await fc.assert(
    fc.asyncProperty(drawn, async ({ label, madeFor, here, sizesMib, diskMib, packed }) => {
      const layout = layOut(label, sizesMib, { sectorBytes: madeFor });
      const disk = { sizeBytes: diskMib * mib, logicalSectorBytes: here };
      const starts = layout.partitions.map(({ start }) => start * madeFor);
      // an MBR shows what it is for by what it leads to
      const shown = label === 'dos' ? withExtAt(...starts) : {};
      const rest = packed ? { ...shown, imageBytes: undefined } : shown;
      const said = await check(layout, disk, {}, rest);
      const ends = Math.max(...layout.partitions.map(({ start, size }) => start + size));
      const tail = label === 'gpt' ? madeFor * 33 : 0;
      const fits = madeFor === here && ends * here + tail <= disk.sizeBytes;
      seen[said === 'fits' ? 'fits' : 'refused'] += 1;
      // what fits is not refused either; a packed GPT may be, for the length that its table tells
      expect(said === 'fits' ? fits : !fits || (packed && label === 'gpt')).toBe(true);
    }),
    { numRuns: 400 },
  );
  expect(Math.min(seen.fits, seen.refused)).toBeGreaterThan(20);
});
