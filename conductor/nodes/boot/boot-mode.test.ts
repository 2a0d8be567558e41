import { expect, test } from 'vitest';
import { withCapability } from '#conductor/nodes/boot/boot-mode.ts';

test.each([
  [undefined, 'boot_mode:uefi'],
  ['', 'boot_mode:uefi'],
  [7, 'boot_mode:uefi'],
  ['boot_mode:bios', 'boot_mode:uefi'],
  [' rack:7 , boot_mode:bios,,secure_boot:true', 'rack:7,secure_boot:true,boot_mode:uefi'],
  [{ rack: 7, boot_mode: 'bios' }, 'rack:7,boot_mode:uefi'],
])('%j', (given, expected) => {
  expect(withCapability(given, 'boot_mode', 'uefi')).toBe(expected);
});
