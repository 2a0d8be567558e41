import { expect, test } from 'vitest';
import { parseVolumeGroup, type ReadBytes, readPhysicalVolume } from '#agent/storage/lvm-label.ts';
import { lvmGroupId, lvmUuids, recordedVolume } from '#agent/storage/testing/recorded-lvm.ts';

const from =
  (bytes: Buffer, base = 0): ReadBytes =>
  (_, offset, length) =>
    Promise.resolve(bytes.subarray(offset - base, offset - base + length));

test('a volume that LVM made tells itself and its group', async () => {
  expect(await readPhysicalVolume(from(recordedVolume(0)), '/dev/sdb', 0)).toEqual({
    uuid: lvmUuids[0],
    group: { name: 'data_vg', id: lvmGroupId, members: lvmUuids },
  });
});

test('one without the description tells itself', async () => {
  expect(await readPhysicalVolume(from(recordedVolume(1)), '/dev/sdc', 0)).toEqual({
    uuid: lvmUuids[1],
    group: undefined,
  });
});

test('one that begins later, in a member of an array', async () => {
  const at = 1024 * 1024;
  expect(await readPhysicalVolume(from(recordedVolume(0), at), '/dev/sdb1', at)).toMatchObject({ uuid: lvmUuids[0] });
});

test('what is not a volume, or a broken one', async () => {
  expect(await readPhysicalVolume(from(Buffer.alloc(4096)), '/dev/sdb', 0)).toBeUndefined();
  expect(await readPhysicalVolume(from(Buffer.alloc(0)), '/dev/sdb', 0)).toBeUndefined();
  const cut = recordedVolume(0).subarray(0, 4096);
  expect(await readPhysicalVolume(from(cut), '/dev/sdb', 0)).toEqual({ uuid: lvmUuids[0], group: undefined });
});

test('a text that goes around the end of its ring', async () => {
  const bytes = Buffer.from(recordedVolume(0));
  const [area, areaBytes] = [4096, 1044480];
  const offset = Number(bytes.readBigUInt64LE(area + 40));
  const size = Number(bytes.readBigUInt64LE(area + 48));
  const text = Buffer.from(bytes.subarray(area + offset, area + offset + size));
  bytes.fill(0, area + 512);
  const untilEnd = 300;
  text.copy(bytes, area + areaBytes - untilEnd, 0, untilEnd);
  text.copy(bytes, area + 512, untilEnd);
  bytes.writeBigUInt64LE(BigInt(areaBytes - untilEnd), area + 40);
  expect(await readPhysicalVolume(from(bytes), '/dev/sdb', 0)).toMatchObject({ group: { name: 'data_vg' } });
});

test('text that describes nothing', () => {
  expect(parseVolumeGroup('')).toBeUndefined();
  expect(parseVolumeGroup('vg {\nseqno = 1\n}')).toBeUndefined();
});
