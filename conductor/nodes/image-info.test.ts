import { expect, test } from 'vitest';
import { bootModeOf } from '#conductor/nodes/boot-mode.ts';
import { buildImageInfo } from '#conductor/nodes/image-info.ts';

const uuid = '11111111-1111-4111-8111-111111111111';
const image = { image_source: 'http://10.0.0.1/images/demo.raw.zst', image_os_hash_algo: 'sha256' };
const build = (instanceInfo: Record<string, unknown>) => buildImageInfo({ uuid, instanceInfo });

test('is what the agent takes', () => {
  expect(build({ ...image, image_os_hash_value: 'abc' })).toEqual({
    id: 'demo.raw.zst',
    urls: [image.image_source],
    disk_format: 'raw',
    container_format: 'bare',
    stream_raw_images: true,
    node_uuid: uuid,
    os_hash_algo: 'sha256',
    os_hash_value: 'abc',
  });
  expect(build({ image_source: image.image_source, image_checksum: 'http://x/SHA256SUMS' })).toMatchObject({
    checksum: 'http://x/SHA256SUMS',
  });
});

test.each([
  [{}, 'instance_info.image_source must be'],
  [{ image_source: 'file:///etc/passwd' }, 'instance_info.image_source must be an http'],
  [image, 'image_os_hash_value'],
  [{ ...image, image_os_hash_algo: 'md5', image_os_hash_value: 'x' }, 'image_os_hash_algo must be sha256 or sha512'],
  [{ ...image, image_os_hash_value: 'x', image_disk_format: 'vmdk' }, '"vmdk" is not supported'],
  [{ ...image, image_os_hash_value: 'x', kernel: 'http://k' }, 'partition images'],
])('refuses %j', (instanceInfo, message) => {
  expect(() => build(instanceInfo)).toThrow(message);
});

test('boot mode: the instance’s wish over the node’s, UEFI by default', () => {
  expect(bootModeOf({ instanceInfo: {}, properties: {} })).toBe('uefi');
  expect(bootModeOf({ instanceInfo: {}, properties: { capabilities: 'x:y, boot_mode:bios' } })).toBe('bios');
  const both = {
    instanceInfo: { capabilities: { boot_mode: 'uefi' } },
    properties: { capabilities: 'boot_mode:bios' },
  };
  expect(bootModeOf(both)).toBe('uefi');
});
