import { crc32 } from 'node:zlib';
import { expect, test } from 'vitest';
import { readTables } from '#agent/storage/disk-tables.ts';

/** A disk's beginning with a GPT of so many entries of so many bytes, whose header has its right checksum. */
function headWith(slots: number, entryBytes: number): Buffer {
  const head = Buffer.alloc(64 * 1024);
  head.writeUInt16LE(0xaa55, 510);
  head[450] = 0xee;
  head.writeUInt32LE(1, 454);
  head.writeUInt32LE(1000, 458);
  const header = head.subarray(512, 1024);
  header.write('EFI PART');
  header.writeUInt32LE(0x1_0000, 8);
  header.writeUInt32LE(92, 12);
  header.writeBigUInt64LE(1n, 24);
  header.writeBigUInt64LE(2n, 72);
  header.writeUInt32LE(slots, 80);
  header.writeUInt32LE(entryBytes, 84);
  header.writeUInt32LE(crc32(Buffer.alloc(slots * entryBytes)), 88);
  header.writeUInt32LE(crc32(header.subarray(0, 92)), 16);
  return head;
}

function faultOf(slots: number, entryBytes: number): string | undefined {
  const tables = readTables(headWith(slots, entryBytes));
  if (tables.kind !== 'gpt') throw new Error(`it is read as ${tables.kind}`);
  return tables.gpts[0]?.fault;
}

test.each([
  [128, 128],
  [4, 128],
  [16, 256],
])('%i entries of %i bytes are read', (slots, entryBytes) => {
  expect(faultOf(slots, entryBytes)).toBeUndefined();
});

test.each([
  [0, 128],
  [128, 64],
  [128, 132],
  [128, 0],
])('%i entries of %i bytes are no GPT that is read', (slots, entryBytes) => {
  expect(faultOf(slots, entryBytes)).toBe(`it has ${slots} entries of ${entryBytes} bytes`);
});
