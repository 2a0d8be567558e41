import { expect, test } from 'vitest';
import { isQcow2, parseQcow2Header } from '#agent/image/qcow2/header.ts';
import { makeQcow2, type Qcow2Options } from '#agent/image/testing/make-qcow2.ts';

const disk = Buffer.alloc(1024 * 1024, 'disk');
/** A good header with other bytes at `at`. */
function header(at: number, value: number | bigint, options: Qcow2Options = {}): Buffer {
  const head = makeQcow2(disk, options).subarray(0, 512);
  if (typeof value === 'bigint') head.writeBigUInt64BE(value, at);
  else head.writeUInt32BE(value, at);
  return head;
}

test('a good one', () => {
  expect(parseQcow2Header(makeQcow2(disk))).toEqual({
    version: 3,
    clusterBits: 16,
    clusterBytes: 65_536,
    virtualBytes: disk.length,
    l1Offset: 65_536,
    l1Entries: 1,
    compression: 'deflate',
  });
  expect(parseQcow2Header(makeQcow2(disk, { version: 2, clusterBits: 9 }))).toMatchObject({
    version: 2,
    l1Entries: 32,
  });
  expect(parseQcow2Header(makeQcow2(disk, { compression: 'zstd' }))).toMatchObject({ compression: 'zstd' });
  // reference counts that may be wrong harm nobody who only reads
  expect(parseQcow2Header(header(72, 1n))).toMatchObject({ version: 3 });
  expect(isQcow2(Buffer.from('QF'))).toBe(false);
});

test.each<[string, Buffer, RegExp]>([
  ['a backing file', header(8, 0x200n), /has a backing file: flatten it/],
  ['a backing file without a place', header(16, 20), /has a backing file/],
  ['data in another file', header(72, 4n), /has its data in another file/],
  ['encryption', header(32, 2), /has encryption/],
  ['the mark of corruption', header(72, 2n), /marked as corrupt/],
  ['subclusters', header(72, 16n), /extended L2 entries/],
  ['features of the future', header(72, 1n << 40n), /the unknown incompatible features 40/],
  ['version 1', header(4, 1), /version 1 \(2 and 3/],
  ['version 4', header(4, 4), /version 4/],
  ['clusters of 256 bytes', header(20, 8), /its clusters have 2\^8 bytes/],
  ['clusters of 4 MiB', header(20, 22), /its clusters have 2\^22 bytes/],
  ['clusters of 2^1000000', header(20, 1_000_000), /its clusters have/],
  ['no size', header(24, 0n), /its virtual size is 0 bytes/],
  ['half a sector', header(24, 700n), /its virtual size is 700 bytes/],
  ['all the bytes in the world', header(24, 0xffff_ffff_ffff_fe00n), /its virtual size is 18446744073709551104/],
  ['a size beyond its table', header(24, 1n << 40n), /first table is too short/],
  ['a table at byte 0', header(40, 0n), /first table is at byte 0/],
  ['a table between clusters', header(40, 66_000n), /first table is at byte 66000/],
  ['a header of 8 bytes', header(100, 8), /its header claims 8 bytes/],
  ['zstd without its flag', header(104, 0x01_00_00_00), /contradict each other/],
  ['an unknown compression', header(104, 0x07_00_00_00, { compression: 'zstd' }), /compression type 7/],
  ['nothing behind the magic', Buffer.from('QFI\u00fb', 'latin1'), /too short for a header/],
])('%s is refused', (_name, head, text) => {
  expect(() => parseQcow2Header(head)).toThrow(text);
});

test('as many tables as would fill the memory are refused', () => {
  const head = header(24, 1n << 50n);
  head.writeUInt32BE(0xffff_ffff, 36);
  expect(() => parseQcow2Header(head)).toThrow(/2097152 tables \(262144 can be read\): convert it/);
});
