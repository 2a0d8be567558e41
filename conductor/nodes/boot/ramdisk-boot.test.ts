import { expect, test } from 'vitest';
import { nodeRamdisk, unusedRamdisk } from '#conductor/nodes/boot/ramdisk-boot.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

const urls = { deploy_kernel: 'http://192.0.2.1/ipa.kernel', deploy_ramdisk: 'http://192.0.2.1/ipa.initramfs' };
const nodeWith = (driverInfo: Readonly<Record<string, string>>, boot?: string) => ({
  uuid: '0b1c2d3e-0000-4000-8000-000000000001',
  driver: 'redfish',
  driverInfo,
  deployInterface: null,
  networkInterface: 'noop',
  interfaces: boot === undefined ? {} : { boot },
});
const on = { config: { nodeRamdisks: true }, secrets: testSecrets };
const off = { config: { nodeRamdisks: false }, secrets: testSecrets };

test('a node boots the ramdisk that it names where nodes may name one', () => {
  const node = nodeWith({ ...urls, deploy_iso: 'http://192.0.2.1/ipa.iso' });
  expect(nodeRamdisk(on, node)).toEqual({ kernel: urls.deploy_kernel, ramdisk: urls.deploy_ramdisk });
  expect(unusedRamdisk(on, node)).toEqual({ keys: ['deploy_iso'] });
  expect(nodeRamdisk(off, node)).toBeUndefined();
  expect(unusedRamdisk(off, node)).toEqual({ keys: ['deploy_kernel', 'deploy_ramdisk', 'deploy_iso'] });
  expect(nodeRamdisk(on, nodeWith({}))).toBeUndefined();
  expect(unusedRamdisk(on, nodeWith({}))).toEqual({ keys: [] });
});

test.each(['redfish-virtual-media', 'http'])("boot_interface %s boots the conductor's own", (boot) => {
  expect(nodeRamdisk(on, nodeWith(urls, boot))).toBeUndefined();
  expect(unusedRamdisk(on, nodeWith(urls, boot))).toEqual({ keys: ['deploy_kernel', 'deploy_ramdisk'] });
});

const image = '0b1c2d3e-0000-4000-8000-000000000002';

test.each([
  [{ deploy_kernel: urls.deploy_kernel }, 'needs deploy_kernel and deploy_ramdisk, or neither'],
  [{ deploy_ramdisk: image }, 'needs deploy_kernel and deploy_ramdisk, or neither'],
  [{ ...urls, deploy_ramdisk: 'file:///ipa' }, 'driver_info.deploy_ramdisk must be an http:// or https:// URL'],
  [{ ...urls, deploy_kernel: 'http://a:b@192.0.2.1/k' }, 'driver_info.deploy_kernel must be a URL without a login'],
  [{ ...urls, deploy_kernel: image }, 'driver_info.deploy_kernel must be an http://'],
])("%j is refused, and the conductor's own is not booted", (driverInfo, says) => {
  const node = nodeWith(driverInfo);
  expect(() => nodeRamdisk(on, node)).toThrow(says);
  expect(nodeRamdisk(off, node)).toBeUndefined();
  expect(unusedRamdisk(on, node)).toEqual({
    keys: Object.keys(driverInfo),
    fault: expect.stringContaining(says) as string,
    isRefused: true,
  });
});

test("the conductor's own is booted in place of images of Glance", () => {
  const node = nodeWith({ deploy_kernel: image, deploy_ramdisk: image });
  expect(nodeRamdisk(on, node)).toBeUndefined();
  expect(unusedRamdisk(on, node)).toEqual({
    keys: ['deploy_kernel', 'deploy_ramdisk'],
    fault: expect.stringContaining('are images of') as string,
  });
});
