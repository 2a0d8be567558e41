import { expect, test } from 'vitest';
import { whyBootIsRefused } from '#conductor/nodes/boot/refused-boot.ts';

const node = (secureBoot: boolean | null, boot: string) => ({
  driver: 'redfish',
  networkInterface: 'noop',
  deployInterface: 'direct',
  interfaces: { boot },
  secureBoot,
});

test('unsigned iPXE is refused with Secure Boot', () => {
  expect(whyBootIsRefused(node(true, 'ipxe'), 'unsigned')).toMatch(/^Secure Boot is on, and iPXE is not signed: /);
  expect(whyBootIsRefused(node(true, 'http-ipxe'), 'unsigned')).toMatch(/^Secure Boot is on/);
});

test.each([
  ['Secure Boot is off', node(false, 'ipxe'), 'unsigned'],
  ['the BMC does not show it', node(null, 'ipxe'), 'unsigned'],
  ['somebody has signed it', node(true, 'ipxe'), 'signed'],
  ['there is no iPXE here', node(true, 'ipxe'), 'unknown'],
  ['the firmware loads the ramdisk itself', node(true, 'http'), 'unsigned'],
  ['the BMC shows it as a CD', node(true, 'redfish-virtual-media'), 'unsigned'],
] as const)('nothing is said where %s', (_, machine, ipxe) => {
  expect(whyBootIsRefused(machine, ipxe)).toBeUndefined();
});
