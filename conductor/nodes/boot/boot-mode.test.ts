import { expect, test } from 'vitest';
import { bootModeOf, capabilityOf, withCapability, withoutCapability } from '#conductor/nodes/boot/boot-mode.ts';

test.each([
  [undefined, 'boot_mode:uefi'],
  ['', 'boot_mode:uefi'],
  [7, 'boot_mode:uefi'],
  ['boot_mode:bios', 'boot_mode:uefi'],
  ['boot_mode : bios', 'boot_mode:uefi'],
  [' rack:7 , boot_mode:bios,,secure_boot:true', 'rack:7,secure_boot:true,boot_mode:uefi'],
  ['lonely,url:http://a:80/', 'lonely,url:http://a:80/,boot_mode:uefi'],
  [{ rack: 7, boot_mode: 'bios' }, 'rack:7,boot_mode:uefi'],
])('%j with the boot mode set is %s', (given, expected) => {
  expect(withCapability(given, 'boot_mode', 'uefi')).toBe(expected);
});

test('a capability is removed, and the others stay', () => {
  expect(withoutCapability('a:1, b : 2 ,boot_mode:bios,c', 'boot_mode')).toBe('a:1,b:2,c');
});

test.each([
  ['a:1', 'a:2', '1'],
  ['a : 1', {}, '1'],
  ['b:1', 'a:2', '2'],
  ['a', 'a:2', '2'],
  ['a:1,a:3', {}, '3'],
  [{ a: false }, 'a:2', false],
  ['a:http://b:80/', {}, 'http://b:80/'],
  [undefined, 7, undefined],
])('of the instance’s %j and the node’s %j, a is %j', (instance, node, expected) => {
  const described = { instanceInfo: { capabilities: instance }, properties: { capabilities: node } };
  expect(capabilityOf(described, 'a')).toBe(expected);
});

test.each([
  ['boot_mode:bios', null, 'bios'],
  ['boot_mode : bios', 'uefi', 'bios'],
  ['', 'bios', 'bios'],
  ['', null, 'uefi'],
  ['boot_mode:floppy', 'bios', 'uefi'],
] as const)('asked for %j at a machine in %s, the boot mode is %s', (capabilities, bootMode, expected) => {
  expect(bootModeOf({ instanceInfo: { capabilities }, properties: {}, bootMode })).toBe(expected);
});
