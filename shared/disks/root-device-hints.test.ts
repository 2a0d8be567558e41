import { describe, expect, test } from 'vitest';
import type { Disk } from '#shared/disks/disk.ts';
import { hintsProtect, listMismatches, parseHints } from '#shared/disks/root-device-hints.ts';
import { testDisk } from '#shared/disks/testing/test-disk.ts';
import { AppError } from '#shared/errors/app-error.ts';
import {
  assert,
  constantFrom,
  integer,
  oneof,
  property,
  string,
  stringMatching,
  tuple,
} from '#test/fuzz/fast-check.ts';

const gib = 1024 ** 3;

function matches(hints: Record<string, unknown>, device: Partial<Disk>): boolean {
  return listMismatches(testDisk(device), parseHints(hints, 'properties.root_device')).length === 0;
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

  test.each<[unknown, number, boolean]>([
    ['<or> 100 <or> 200', 200, true],
    ['<or> 100 <or> >= 200', 250, true],
    ['<or> 100 <or> 200', 150, false],
    ['<range-in> [ 100 200 ]', 200, true],
    ['<range-in> [100 200)', 200, false],
    ['<range-in> ( 100 200 ]', 100, false],
    ['<range-in> ( 100 200 )', 100.5, true],
  ])('size %s, disk of %d GiB: %s', (hint, size, expected) => {
    expect(matches({ size: hint }, { sizeBytes: size * gib })).toBe(expected);
  });

  test.each([
    0,
    -1,
    '99.5',
    'big',
    '<in> 100',
    '<or>',
    '<or> 1 <or>',
    's== 100',
    '>=',
    true,
    null,
    '',
    [100],
    '<range-in> 1 2',
    '<range-in> [ 2 1 ]',
    '<range-in> [ a b ]',
    '<all-in> 1 2',
  ])('size %s is refused', (hint) => {
    expect(() => parseHints({ size: hint }, 'instance_info.root_device')).toThrow(/instance_info.root_device.size/);
  });
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
    ['<all-in> samsung 970', 'Samsung SSD 970 PRO', true],
    ['<all-in> samsung 980', 'Samsung SSD 970 PRO', false],
    ['<all-in> samsung <all-in> pro', 'Samsung SSD 970 PRO', true],
    ['<all-in> x', null, false],
    ['none', null, true],
    ['s!= x', null, true],
    ['s3510', 'S3510', true],
  ])('model "%s", disk "%s": %s', (hint, model, expected) => {
    expect(matches({ model: hint }, { model })).toBe(expected);
  });

  test.each(['<range-in> [ 1 2 ]', 's==', '<in>', '<foo> x'])('"%s" is refused', (hint) => {
    expect(() => parseHints({ model: hint }, 'properties.root_device')).toThrow(/operators for text are s==/);
  });

  test.each([
    ['<or> a <or>', /each <or> must stand before a value/],
    ['<all-in>', /<all-in> must stand before the words/],
    [' ', /properties.root_device.model is empty/],
    [['a', 'b'], /several values are "<or> a <or> b"/],
  ])('%j is refused', (hint, message) => {
    expect(() => parseHints({ model: hint }, 'properties.root_device')).toThrow(message);
  });
});

describe('a disk of several names', () => {
  const sas: Partial<Disk> = {
    serial: 'KJGATM4R',
    serials: ['KJGATM4R', '5000cca0541ae674', '35000cca0541ae674'],
    wwn: '0x5000cca0541ae674',
    wwns: ['0x5000cca0541ae674', '0x5000cca0541ae6740000000000000001'],
    links: [
      '/dev/disk/by-path/pci-1-ata-1',
      '/dev/disk/by-path/pci-1-ata-1.0',
      '/dev/disk/by-id/wwn-0x5000cca0541ae674',
    ],
    byPath: '/dev/disk/by-path/pci-1-ata-1.0',
  };

  test.each([
    { serial: 'kjgatm4r' },
    { serial: '5000cca0541ae674' },
    { serial: '<or> other <or> 35000CCA0541AE674' },
    { wwn: '0x5000cca0541ae674' },
    { wwn: '5000CCA0541AE674' },
    { wwn: 's== naa.5000cca0541ae674' },
    { wwn: '0x5000cca0541ae6740000000000000001' },
    { wwn_with_extension: '5000cca0541ae6740000000000000001' },
    { by_path: '/dev/disk/by-path/pci-1-ata-1' },
    { by_path: '/dev/disk/by-path/pci-1-ata-1.0' },
    { name: '/dev/disk/by-id/wwn-0x5000cca0541ae674' },
    { name: '/dev/disk/by-path/pci-1-ata-1' },
  ])('%j: one is enough', (hints) => {
    expect(matches(hints, sas)).toBe(true);
    expect(hintsProtect(testDisk(sas), parseHints(hints, 'skip'))).toBe(true);
  });

  test('what must not be so must hold for each when a disk is chosen, and for one when it is protected', () => {
    const hints = { serial: 's!= 5000cca0541ae674' };
    expect(matches(hints, sas)).toBe(false);
    expect(matches(hints, { serial: 'other' })).toBe(true);
    expect(hintsProtect(testDisk(sas), parseHints(hints, 'skip'))).toBe(true);
  });

  test('what has not been read may be: it is not chosen, and protected is not known', () => {
    const unread = testDisk({ name: '/dev/sda', unread: 'udevadm took too long' });
    const unsure = [{ serial: 'A' }, { wwn: '0xa' }, { by_path: '/dev/disk/by-path/a' }, { name: '/dev/disk/by-id/a' }];
    for (const hints of [...unsure, { serial: 's!= A' }, { serial: 'none' }]) {
      expect(matches(hints, unread)).toBe(false);
      expect(hintsProtect(unread, parseHints(hints, 'skip'))).toBeUndefined();
    }
    for (const hints of [{ size: '> 5000' }, { hctl: '1:0:0:0' }, { name: '/dev/sdb' }]) {
      expect(hintsProtect(unread, parseHints(hints, 'skip'))).toBe(false);
    }
    expect(hintsProtect(unread, parseHints({ name: '/dev/sda' }, 'skip'))).toBe(true);
    expect(hintsProtect(unread, parseHints({ serial: 'A', size: '> 5000' }, 'skip'))).toBe(false);
  });
});

test.each([
  ['serial', '0000000000'],
  ['serial', 's== To be filled by O.E.M.'],
  ['serial', '<or> A <or> 0123456789ABCDEF'],
  ['wwn', '0x0000000000000000'],
  ['wwn', '0x5000000000000001'],
  ['wwn_with_extension', 'eui.0000000000000000'],
])('%s %s is a placeholder, and names no disk', (field, value) => {
  expect(() => parseHints({ [field]: value }, 'properties.root_device')).toThrow(
    /properties.root_device.\w+ is ".*", which makers put where a disk has no (serial number|WWN) of its own/,
  );
});

test.each<[unknown, boolean, boolean]>([
  [true, true, true],
  ['false', false, true],
  ['TRUE', false, false],
])('rotational %s, disk %s: %s', (hint, rotational, expected) => {
  expect(matches({ rotational: hint }, { rotational })).toBe(expected);
});

test('a disk that may turn or not is neither kind, and not known to be protected as one', () => {
  for (const rotational of [true, false]) {
    expect(matches({ rotational }, { rotational: null })).toBe(false);
    expect(hintsProtect(testDisk({ rotational: null }), parseHints({ rotational }, 'skip'))).toBeUndefined();
  }
});

test('rotational takes truth values only', () => {
  expect(() => parseHints({ rotational: 'maybe' }, 'properties.root_device')).toThrow(/must be true or false/);
});

test('each field reads its own attribute', () => {
  const device: Partial<Disk> = {
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
    /properties.root_device.colour is not a known hint; hints are size, rotational, model/,
  );
});

function reading(field: string, text: string): string {
  try {
    listMismatches(testDisk(), parseHints({ [field]: text }, 'properties.root_device'));
    return 'understood';
  } catch (error) {
    return error instanceof AppError ? `${error.code}: ${error.message}` : `crashed: ${String(error)}`;
  }
}

describe('for all hints and disks', () => {
  const word = stringMatching(/^[a-z0-9.-]{1,8}$/);
  const size = integer({ min: 1, max: 5000 });
  const sized = (hint: unknown, actual: number): boolean => matches({ size: hint }, { sizeBytes: actual * gib });
  const modelled = (hint: unknown, model: string): boolean => matches({ model: hint }, { model });

  test('an operator and its opposite never agree', () => {
    const opposites = constantFrom(['==', '!='] as const, ['<', '>='] as const, ['>', '<='] as const);
    assert(
      property(opposites, size, size, ([one, other], wanted, actual) => {
        expect(sized(`${one} ${wanted}`, actual)).toBe(!sized(`${other} ${wanted}`, actual));
      }),
    );
    assert(
      property(opposites, word, word, ([one, other], wanted, actual) => {
        expect(modelled(`s${one} ${wanted}`, actual)).toBe(!modelled(`s${other} ${wanted}`, actual));
      }),
    );
  });

  test('a range is the two comparisons of its ends', () => {
    assert(
      property(size, size, size, constantFrom('[', '('), constantFrom(']', ')'), (a, b, actual, open, close) => {
        const [least, most] = [Math.min(a, b), Math.max(a, b)];
        const both =
          sized(`${open === '[' ? '>=' : '>'} ${least}`, actual) &&
          sized(`${close === ']' ? '<=' : '<'} ${most}`, actual);
        expect(sized(`<range-in> ${open} ${least} ${most} ${close}`, actual)).toBe(both);
      }),
    );
  });

  test('<or> is any of its values, <all-in> every <in>, and neither the case nor spaces around matter', () => {
    assert(
      property(word, word, word, (a, b, actual) => {
        expect(modelled(`<or> ${a} <or> ${b}`, actual)).toBe(actual === a || actual === b);
        expect(modelled(`<all-in> ${a} ${b}`, actual)).toBe(
          modelled(`<in> ${a}`, actual) && modelled(`<in> ${b}`, actual),
        );
        expect(modelled(`  s== ${actual.toUpperCase()} `, actual)).toBe(true);
      }),
    );
  });

  test('a hint is either understood or refused by its name', () => {
    const operators = ['', '=', '==', 's==', 's<', '<in>', '<or>', '<all-in>', '<range-in>', '<', '>=', 's', '<x>'];
    const hint = tuple(constantFrom(...operators), oneof(word, string({ maxLength: 12 }))).map((parts) =>
      parts.join(' '),
    );
    assert(
      property(constantFrom('size', 'model', 'rotational', 'serial'), hint, (field, text) => {
        expect(reading(field, text)).toMatch(
          /^(understood|invalid_argument: root device hint properties.root_device.\w+ )/,
        );
      }),
    );
  });
});
