import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { checkMountable, decodeConfigDrive, maxConfigDriveBytes } from '#agent/image/config-drive.ts';

const iso = Buffer.alloc(40_960);
iso.write('\u0001CD001\u0001', 0x8000, 'latin1');
const fat = Buffer.alloc(8192);
fat.writeUInt16LE(0xaa55, 510);
fat.write('FAT16', 54, 'latin1');
fat.writeUInt16LE(512, 11);

test.each([
  ['an ISO', iso],
  ['FAT', fat],
])('%s, as base64 of gzip, as base64, or as fetched', (_name, image) => {
  const base64 = gzipSync(image)
    .toString('base64')
    .replaceAll(/(.{76})/g, '$1\n');
  expect(decodeConfigDrive(base64).equals(image)).toBe(true);
  expect(decodeConfigDrive(image.toString('base64')).equals(image)).toBe(true);
  expect(decodeConfigDrive(Buffer.from(base64)).equals(image)).toBe(true);
  expect(decodeConfigDrive(gzipSync(image)).equals(image)).toBe(true);
  expect(decodeConfigDrive(image).equals(image)).toBe(true);
});

test('one that could not be mounted from the disk is refused', () => {
  const disk = (logicalSectorBytes: number) => ({ name: '/dev/sda', logicalSectorBytes });
  const large = Buffer.from(fat);
  large.writeUInt16LE(4096, 11);
  for (const [image, sectorBytes] of [[iso, 512] as const, [fat, 512] as const, [large, 4096] as const]) {
    expect(() => checkMountable(image, disk(sectorBytes))).not.toThrow();
  }
  expect(() => checkMountable(iso, disk(4096))).toThrow(/is ISO 9660 with sectors of 2048 bytes.*mkfs.vfat -S 4096/);
  expect(() => checkMountable(fat, disk(4096))).toThrow(/is FAT with sectors of 512 bytes/);
});

test.each([
  ['{"meta_data": {}}', /not base64/],
  [gzipSync('hello').toString('base64'), /neither an ISO 9660 nor a FAT/],
  [gzipSync(iso).subarray(0, 40).toString('base64'), /unpack the gzipped config drive/],
  [gzipSync(Buffer.alloc(maxConfigDriveBytes + 1)).toString('base64'), /larger than 32 MiB unpacked/],
  ['A'.repeat(48 * 1024 * 1024), /larger than 32 MiB unpacked/],
])('refuses %.30s', (value, text) => {
  expect(() => decodeConfigDrive(value)).toThrow(text);
});
