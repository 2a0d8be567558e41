import { expect, test } from 'vitest';
import { bootCode, placedCore } from '#shared/disks/grub-boot-sectors.ts';

test('the boot code names the sector of the core and leaves the partition table alone', () => {
  const code = Buffer.from(bootCode(new Uint8Array(512).fill(7), 4096));
  expect(code.length).toBe(440);
  expect(code.readBigUInt64LE(0x5c)).toBe(4096n);
  expect(code[0x64]).toBe(0xff);
  expect([code[0x65], code[0x66], code[0x67], code[0x68]]).toEqual([7, 0x90, 0x90, 7]);
});

test('a boot.img of another size is refused', () => {
  expect(() => bootCode(new Uint8Array(440), 1)).toThrow(/440 bytes/);
});

test('the core is told where its second sector is, and must fit', () => {
  const core = Buffer.from(placedCore(new Uint8Array(1024), 2048, 1024));
  expect(core.readBigUInt64LE(500)).toBe(2049n);
  expect(() => placedCore(new Uint8Array(1025), 2048, 1024)).toThrow(/1025 bytes/);
});
