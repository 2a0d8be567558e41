import { expect, test } from 'vitest';
import { bootModeOf } from '#conductor/nodes/boot/boot-mode.ts';
import { buildImageInfo } from '#conductor/nodes/boot/image-info.ts';

const uuid = '11111111-1111-4111-8111-111111111111';
const image = { image_source: 'http://10.0.0.1/images/demo.raw.zst', image_os_hash_algo: 'sha256' };
const whole = { ...image, image_os_hash_value: 'x' };
const partition = { ...whole, image_type: 'partition', root_gb: 10 };
const build = (instanceInfo: Record<string, unknown>, fields: Partial<Parameters<typeof buildImageInfo>[0]> = {}) =>
  buildImageInfo({
    uuid,
    instanceInfo,
    properties: {},
    bootMode: null,
    raidConfig: {},
    targetRaidConfig: {},
    ...fields,
  });

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
  const digest = 'ab'.repeat(32);
  const named = build({ image_source: image.image_source, image_checksum: `sha256:${digest}` });
  expect(named).toMatchObject({ checksum: digest });
});

test('a qcow2 image', () => {
  expect(build({ ...whole, image_disk_format: 'qcow2' })).toMatchObject({ disk_format: 'qcow2' });
});

test('a partition image says how the disk is to be laid out', () => {
  const minimal = {
    image_type: 'partition',
    root_gb: 10,
    root_mb: 10_240,
    swap_mb: 0,
    ephemeral_mb: 0,
    ephemeral_format: 'ext4',
    preserve_ephemeral: false,
    boot_option: 'local',
    deploy_boot_mode: 'uefi',
  };
  expect(build(partition)).toMatchObject(minimal);
  expect(build(partition)).not.toHaveProperty('disk_label');
  const full = { swap_mb: '512', ephemeral_gb: 2, preserve_ephemeral: true, kernel: 'k', ramdisk: 'r' };
  const capabilities = 'boot_mode:bios,disk_label:gpt';
  expect(build({ ...partition, ...full, image_type: undefined, capabilities })).toMatchObject({
    ...minimal,
    swap_mb: 512,
    ephemeral_mb: 2048,
    preserve_ephemeral: true,
    kernel: 'k',
    ramdisk: 'r',
    deploy_boot_mode: 'bios',
    disk_label: 'gpt',
  });
  expect(build({ ...partition, image_type: 'whole-disk', kernel: 'k', ramdisk: 'r' })).not.toHaveProperty('root_gb');
});

test('no partition image on software RAID', () => {
  const raid = { logical_disks: [{ size_gb: 'MAX', raid_level: '1', controller: 'software' }] };
  expect(() => build(partition, { targetRaidConfig: raid })).toThrow(/can not be put on software RAID/);
});

test.each([
  [{}, 'instance_info.image_source must be'],
  [{ image_source: 'file:///etc/passwd' }, 'instance_info.image_source must be an http'],
  [image, 'image_os_hash_value'],
  [{ ...image, image_os_hash_algo: 'md5', image_os_hash_value: 'x' }, 'image_os_hash_algo must be sha256 or sha512'],
  [{ ...image, image_os_hash_value: 'x', image_disk_format: 'vmdk' }, '"vmdk" is not supported'],
  [{ ...whole, image_type: 'container' }, 'instance_info.image_type must be "whole-disk" or "partition"'],
  [{ ...whole, kernel: 'k', ramdisk: 'r' }, 'instance_info.root_gb is missing'],
  [{ ...partition, root_gb: '9.5' }, 'instance_info.root_gb must be a whole number'],
  [{ ...partition, swap_mb: -1 }, 'instance_info.swap_mb must be a whole number'],
  [{ ...partition, ephemeral_gb: true }, 'instance_info.ephemeral_gb must be a whole number'],
  [{ ...partition, ephemeral_format: 'xfs' }, 'instance_info.ephemeral_format must be one of ext2'],
  [{ ...partition, preserve_ephemeral: 'yes' }, 'instance_info.preserve_ephemeral must be true or false'],
  [{ ...partition, preserve_ephemeral: true }, 'instance_info.preserve_ephemeral needs ephemeral_gb'],
  [{ ...partition, capabilities: 'disk_label:dos' }, 'disk_label must be gpt or msdos'],
  [{ ...partition, capabilities: 'disk_label:msdos' }, 'disk_label msdos can not be booted by UEFI'],
])('refuses %j', (instanceInfo, message) => {
  expect(() => build(instanceInfo)).toThrow(message);
});

test('boot mode: the instance’s setting over the node’s, over the machine’s own; UEFI by default', () => {
  const silent = { instanceInfo: {}, properties: {}, bootMode: null };
  expect(bootModeOf(silent)).toBe('uefi');
  expect(bootModeOf({ ...silent, bootMode: 'bios' })).toBe('bios');
  const asked = { ...silent, properties: { capabilities: 'x:y, boot_mode:bios' } };
  expect([bootModeOf(asked), bootModeOf({ ...asked, bootMode: 'uefi' })]).toEqual(['bios', 'bios']);
  const both = {
    bootMode: 'bios' as const,
    instanceInfo: { capabilities: { boot_mode: 'uefi' } },
    properties: { capabilities: 'boot_mode:bios' },
  };
  expect(bootModeOf(both)).toBe('uefi');
});
