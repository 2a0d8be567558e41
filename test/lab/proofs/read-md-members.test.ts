import { expect, test } from 'vitest';
import { mbrStarts, parseMdSuperblock } from '#test/lab/proofs/read-md-members.ts';

function superblock(): Buffer {
  const bytes = Buffer.alloc(256);
  bytes.writeUInt32LE(0xa92b4efc, 0);
  bytes.writeUInt32LE(1, 4);
  Buffer.from('00112233445566778899aabbccddeeff', 'hex').copy(bytes, 16);
  bytes.writeInt32LE(1, 72);
  bytes.writeUInt32LE(2, 92);
  bytes.writeBigUInt64LE(2048n, 128);
  bytes.writeBigUInt64LE(8n, 144);
  return bytes;
}

test('a superblock of version 1.2', () => {
  expect(parseMdSuperblock(superblock(), 1_048_576)).toEqual({
    arrayUuid: '00112233:44556677:8899aabb:ccddeeff',
    level: 1,
    raidDisks: 2,
    dataAt: 1_048_576 + 2048 * 512,
  });
});

test.each([
  { what: 'no superblock', at: 0 },
  { what: 'one of version 0.90', at: 4 },
  { what: 'one that lies elsewhere', at: 144 },
])('$what', ({ at }) => {
  const bytes = superblock();
  bytes[at] = 0;
  expect(parseMdSuperblock(bytes, 0)).toBeUndefined();
});

test('partitions of an MBR, a protective one, and none', () => {
  const mbr = Buffer.alloc(512);
  expect(mbrStarts(mbr)).toEqual([]);
  mbr.writeUInt16LE(0xaa55, 510);
  mbr[446 + 16 + 4] = 0xfd;
  mbr.writeUInt32LE(2048, 446 + 16 + 8);
  expect(mbrStarts(mbr)).toEqual([2048]);
  mbr[446 + 4] = 0xee;
  expect(mbrStarts(mbr)).toBeUndefined();
});
