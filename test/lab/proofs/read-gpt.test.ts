import { expect, test } from 'vitest';
import { parseGptEntries } from '#test/lab/proofs/read-gpt.ts';

test('used entries with their numbers', () => {
  const entries = Buffer.alloc(3 * 128);
  const second = entries.subarray(128, 256);
  second.fill(0xab, 0, 16);
  second.fill(0x01, 16, 32);
  second.writeBigUInt64LE(2048n, 32);
  second.writeBigUInt64LE(4095n, 40);
  second.write('root', 56, 'utf16le');
  expect(parseGptEntries(entries, 128)).toEqual([
    { number: 2, type: 'ab'.repeat(16), guid: '01'.repeat(16), firstSector: 2048, lastSector: 4095, name: 'root' },
  ]);
});
