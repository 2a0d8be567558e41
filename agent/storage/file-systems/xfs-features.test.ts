import { expect, test } from 'vitest';
import { readRootFileSystem } from '#agent/storage/file-systems/file-systems.ts';
import { unknownXfsFeatures } from '#agent/storage/file-systems/xfs-features.ts';

function superblock(bits: number, version = 5): Buffer {
  const bytes = Buffer.alloc(512);
  bytes.write('XFSB');
  bytes.fill(1, 32, 48);
  bytes.writeUInt16BE(0xb4a0 | version, 100);
  bytes.writeUInt32BE(bits, 216);
  return bytes;
}

const exchange = 1 << 6;
const parent = 1 << 7;
const zoned = 1 << 9;

test.each<[string, number, readonly string[]]>([
  ['6.1.0-40-amd64', 0x3f, []],
  ['6.1.0-40-amd64', exchange | parent | 0x3f, ['exchange', 'parent']],
  ['6.9.12', exchange, ['exchange']],
  ['6.10.0', exchange | parent, []],
  ['6.12.41+deb13-amd64', exchange | parent | zoned, ['zoned']],
  ['7.0', zoned, []],
  ['5.14.0-427.el9.x86_64', 1 << 5, ['nrext64']],
  ['7.0', 2 ** 31, ['number 31']],
  ['no release', 1, ['ftype']],
])('Linux %s and features %i', (kernel, bits, unknown) => {
  expect(unknownXfsFeatures(superblock(bits), kernel)).toEqual(unknown);
  expect(readRootFileSystem(superblock(bits), kernel)?.unknownFeatures).toEqual(unknown);
});

test('an older format has none', () => expect(unknownXfsFeatures(superblock(0xffff, 4), '6.1')).toEqual([]));
