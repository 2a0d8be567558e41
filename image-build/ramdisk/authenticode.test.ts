import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { authenticodeDigest } from '#image-build/ramdisk/authenticode.ts';

const [header, checksum, table] = [0x80, 0x80 + 24 + 64, 0x80 + 24 + 112 + 4 * 8];

/** A program of 1 KiB, with that many bytes of signatures at its end. */
function program(signatures = 0): Buffer {
  const bytes = Buffer.alloc(1024 + signatures, 7);
  bytes.writeUInt32LE(header, 0x3c);
  bytes.write('PE\0\0', header, 'latin1');
  bytes.writeUInt16LE(0x20b, header + 24);
  bytes.writeUInt32LE(signatures === 0 ? 0 : 1024, table);
  bytes.writeUInt32LE(signatures, table + 4);
  return bytes;
}

test('the digest is of all but the checksum, the place for signatures and these', () => {
  const plain = program();
  const parts = [plain.subarray(0, checksum), plain.subarray(checksum + 4, table), plain.subarray(table + 8)];
  const digest = createHash('sha256').update(Buffer.concat(parts)).digest('hex');
  expect(authenticodeDigest(plain)).toBe(digest);
  expect(authenticodeDigest(program(1472)), 'signed').toBe(digest);
  const other = program(8);
  other.writeUInt32LE(1, checksum);
  expect(authenticodeDigest(other)).toBe(digest);
  other.writeUInt8(0, 1023);
  expect(authenticodeDigest(other)).not.toBe(digest);
});

test.each([
  ['another kind of file', Buffer.from('#!/bin/sh\n'), /no PE32\+ file/],
  ['a program of 32-bit UEFI', Buffer.from(program()).fill(1, header + 24, header + 25), /no PE32\+ file/],
  ['bytes behind the signatures', Buffer.concat([program(16), Buffer.alloc(8)]), /signatures do not lie at its end/],
  ['a file that is cut', program(16).subarray(0, 1030), /signatures do not lie at its end/],
])('%s is refused', (_, file, message) => {
  expect(() => authenticodeDigest(file)).toThrow(message);
});
