import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readIpxeSignature, readSignature } from '#conductor/boot/ipxe-signature.ts';

/** The headers of a program, whose certificate table has that many bytes. */
function program(certificates: number): Buffer {
  const bytes = Buffer.alloc(512);
  bytes.writeUInt32LE(0x80, 0x3c);
  bytes.write('PE\0\0', 0x80, 'latin1');
  bytes.writeUInt16LE(0x20b, 0x80 + 24);
  bytes.writeUInt32LE(certificates, 0x80 + 24 + 112 + 36);
  return bytes;
}

test('a program is signed where it has certificates', () => {
  expect(readSignature(program(1472))).toBe('signed');
  expect(readSignature(program(0))).toBe('unsigned');
});

test('what is no program of 64-bit UEFI, or is cut, is not known', () => {
  const other = program(0);
  other.writeUInt16LE(0x10b, 0x80 + 24);
  expect(readSignature(other)).toBe('unknown');
  for (let length = 0; length < 0x80 + 24 + 112 + 40; length += 1)
    expect(readSignature(program(0).subarray(0, length))).toBe('unknown');
});

test('a directory is asked for its snponly.efi', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'baton-ipxe-'));
  try {
    expect(await readIpxeSignature(directory)).toBe('unknown');
    await writeFile(join(directory, 'snponly.efi'), program(0));
    expect(await readIpxeSignature(directory)).toBe('unsigned');
  } finally {
    await rm(directory, { recursive: true });
  }
});
