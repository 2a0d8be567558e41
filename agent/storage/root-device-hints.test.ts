import { describe, expect, test } from 'vitest';
import type { BlockDevice } from '#agent/storage/block-device.ts';
import { mismatches, parseHints } from '#agent/storage/root-device-hints.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';

const gib = 1024 ** 3;

function matches(hints: Record<string, unknown>, device: Partial<BlockDevice>): boolean {
  return mismatches(testDevice(device), parseHints(hints, 'properties.root_device')).length === 0;
}

describe('numbers', () => {
  test.each<[unknown, number, boolean]>([
    [931, 931, true],
    ['931', 931, true],
    [931, 931.5, false],
    ['= 100', 200, true], // Ironic's = means at least
    ['= 100', 99, false],
    ['==100', 100, true],
    ['!= 100', 101, true],
    ['< 100', 99.9, true],
    ['<=100', 100, true],
    ['> 100', 100, false],
    ['>= 100', 100, true],
  ])('size %s, disk of %d GiB: %s', (hint, size, expected) => {
    expect(matches({ size: hint }, { sizeBytes: size * gib })).toBe(expected);
  });

  test.each([0, -1, '99.5', 'big', '<in> 100', '<or> 1 <or> 2', 's== 100', '>=', true, null])(
    'size %s is refused',
    (hint) => {
      expect(() => parseHints({ size: hint }, 'instance_info.root_device')).toThrow(/instance_info.root_device.size/);
    },
  );
});

describe('texts', () => {
  test.each<[string, string | null, boolean]>([
    ['Samsung SSD', 'SAMSUNG ssd', true],
    ['Samsung', 'Samsung SSD', false],
    ['s== QEMU', 'qemu', true],
    ['s!= QEMU', 'qemu', false],
    ['s!= QEMU', 'other', true],
    ['s< b', 'a', true],
    ['s<= b', 'b', true],
    ['s> b', 'a', false],
    ['s>= b', 'c', true],
    ['<in> ssd', 'Samsung SSD', true],
    ['<in> hdd', 'Samsung SSD', false],
    ['<or> a <or> B c', 'b C', true],
    ['<or> a <or> b', 'c', false],
    ['none', null, true],
    ['s!= x', null, true],
    ['s3510', 'S3510', true],
  ])('model "%s", disk "%s": %s', (hint, model, expected) => {
    expect(matches({ model: hint }, { model })).toBe(expected);
  });

  test.each(['<all-in> a b', '<range-in> 1 2', 's==', '<in>', '<foo> x'])('"%s" is refused', (hint) => {
    expect(() => parseHints({ model: hint }, 'properties.root_device')).toThrow(/operators for text are s==/);
  });
});

test.each<[unknown, boolean, boolean]>([
  [true, true, true],
  ['false', false, true],
  ['TRUE', false, false],
])('rotational %s, disk %s: %s', (hint, rotational, expected) => {
  expect(matches({ rotational: hint }, { rotational })).toBe(expected);
});

test('rotational takes truth values only', () => {
  expect(() => parseHints({ rotational: 'maybe' }, 'properties.root_device')).toThrow(/must be true or false/);
});

test('each field reads its own attribute', () => {
  const device: Partial<BlockDevice> = {
    name: '/dev/sdq',
    vendor: 'v',
    serial: 's',
    wwn: 'w',
    wwnWithExtension: 'we',
    wwnVendorExtension: 'wv',
    hctl: '1:0:0:0',
    byPath: '/dev/disk/by-path/p',
    tran: 'sas',
  };
  const hints = {
    name: '/dev/sdq',
    vendor: 'v',
    serial: 's',
    wwn: 'w',
    wwn_with_extension: 'we',
    wwn_vendor_extension: 'wv',
    hctl: '1:0:0:0',
    by_path: '/dev/disk/by-path/p',
    tran: 'sas',
  };
  expect(matches(hints, device)).toBe(true);
  for (const hint of Object.keys(hints)) expect(matches({ ...hints, [hint]: 'x' }, device)).toBe(false);
});

test('an unknown hint is named', () => {
  expect(() => parseHints({ colour: 'red' }, 'properties.root_device')).toThrow(
    /properties.root_device.colour is no known hint; known are size, rotational, model/,
  );
});
