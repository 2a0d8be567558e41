import { expect, test } from 'vitest';
import { isPartitionImage, readRequestedPartitions } from '#agent/image/requested-partitions.ts';
import { ImageInfo } from '#shared/in-band/image-info.ts';

const read = (fields: Record<string, unknown>, ramdisk: 'bios' | 'uefi' = 'bios') =>
  readRequestedPartitions(ImageInfo.parse({ id: 'i', urls: ['http://192.0.2.1/i'], ...fields }), false, ramdisk);

test.each([
  [{ image_type: 'partition' }, true],
  [{ image_type: 'whole-disk', kernel: 'k', ramdisk: 'r' }, false],
  [{ kernel: 'k', ramdisk: 'r' }, true],
  [{ kernel: 'k' }, false],
  [{}, false],
])('%j is a partition image: %s', (fields, expected) => {
  expect(isPartitionImage(fields)).toBe(expected);
});

test('sizes and defaults', () => {
  expect(read({ root_gb: 10 })).toEqual({
    bootMode: 'bios',
    label: 'msdos',
    ephemeralMib: 0,
    swapMib: 0,
    hasConfigDrive: false,
    rootMib: 10_240,
    ephemeralFormat: 'ext4',
    preserveEphemeral: false,
  });
  expect(read({ root_mb: 500, root_gb: 10 }, 'uefi')).toMatchObject({ rootMib: 500, bootMode: 'uefi', label: 'gpt' });
  expect(read({ root_gb: '3', deploy_boot_mode: 'bios', disk_label: 'gpt' }, 'uefi')).toMatchObject({
    rootMib: 3072,
    bootMode: 'bios',
    label: 'gpt',
  });
});

test.each([
  [{}, /image_info.root_gb \(or root_mb\) must say/],
  [{ root_gb: 1, preserve_ephemeral: true }, /preserve_ephemeral is set, but ephemeral_mb is 0/],
  [{ root_gb: 1, ephemeral_format: 'xfs' }, /ephemeral_format is "xfs": ext2, ext3, ext4, vfat can be made/],
  [{ root_gb: 1, boot_option: 'netboot' }, /boot_option is "netboot"/],
])('%j is refused', (fields, text) => {
  expect(() => read(fields)).toThrow(text);
});
