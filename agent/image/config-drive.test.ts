import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { decodeConfigDrive, maxConfigDriveBytes } from '#agent/image/config-drive.ts';

const iso = Buffer.alloc(40_960);
iso.write('\u0001CD001\u0001', 0x8000, 'latin1');
const fat = Buffer.alloc(8192);
fat.writeUInt16LE(0xaa55, 510);
fat.write('FAT16', 54, 'latin1');

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

test.each([
  ['{"meta_data": {}}', /not base64/],
  [gzipSync('hello').toString('base64'), /neither an ISO 9660 nor a FAT/],
  [gzipSync(iso).subarray(0, 40).toString('base64'), /unpack the gzipped config drive/],
  [gzipSync(Buffer.alloc(maxConfigDriveBytes + 1)).toString('base64'), /larger than 67108864 bytes/],
])('refuses %.30s', (value, text) => {
  expect(() => decodeConfigDrive(value)).toThrow(text);
});
