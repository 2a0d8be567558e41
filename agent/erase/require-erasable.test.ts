import { describe, expect, test } from 'vitest';
import { diskKey, requireNoTwins, sharesHardware } from '#agent/erase/require-erasable.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';

const lun = { serial: 'L1', model: 'Array', wwn: '0x6005', wwnWithExtension: '0x60050000' };

describe('a disk that has two paths', () => {
  test.each([
    ['by WWN', lun, { ...lun, serial: null }],
    ['by WWN, written otherwise', lun, { ...lun, wwnWithExtension: 'naa.60050000' }],
    ['by one of its serial numbers', lun, { ...lun, serial: 'other', serials: ['other', 'L1'] }],
    ['by serial, size and model', { serial: 'S', model: 'M' }, { serial: 'S', model: 'M' }],
    ['by serial where one has no WWN', { serial: 'S', model: 'M', wwn: '0x5' }, { serial: 'S', model: 'M' }],
  ])('is not erased by the second while the first is kept: %s', (_name, first, second) => {
    const [kept, disk] = [testDevice({ name: '/dev/sda', ...first }), testDevice({ name: '/dev/sdb', ...second })];
    expect(() => requireNoTwins([disk], [kept])).toThrow(
      /^\/dev\/sdb .* is the same disk as \/dev\/sda .* another path/,
    );
  });

  test.each([
    ['volumes of one array', lun, { ...lun, wwnWithExtension: '0x60050001' }],
    ['disks that say nothing', {}, {}],
    ['of other sizes', { serial: 'S' }, { serial: 'S', sizeBytes: 1 }],
    ['one WWN in a batch of disks', lun, { ...lun, serial: 'L2' }],
    ['one WWN in disks of two models', lun, { ...lun, model: 'Other' }],
    ['one WWN in disks of two sizes', lun, { ...lun, sizeBytes: 1 }],
    ['zeros for a serial number', { serial: '0000000000', model: 'M' }, { serial: '0000000000', model: 'M' }],
    ['the WWN of an enclosure', { wwn: '0x5000000000000001' }, { wwn: '0x5000000000000001' }],
    ['zeros for a WWN', { wwn: 'eui.0000000000000000' }, { wwn: 'eui.0000000000000000' }],
    ['slots of a card reader', { serial: 'S', tran: 'usb' }, { serial: 'S', tran: 'usb' }],
  ])('is not what these are: %s', (_name, first, second) => {
    const [kept, disk] = [testDevice({ name: '/dev/sda', ...first }), testDevice({ name: '/dev/sdb', ...second })];
    expect(() => requireNoTwins([disk], [kept])).not.toThrow();
  });

  test('is not erased while one of the two could not be read', () => {
    const unread = 'udevadm info took longer than 30000 ms';
    const [kept, disk] = [
      testDevice({ name: '/dev/sda', ...lun }),
      testDevice({ name: '/dev/sdb', model: 'Array', unread }),
    ];
    for (const [one, other] of [
      [kept, disk],
      [disk, kept],
    ] as const) {
      expect(() => requireNoTwins([one], [other])).toThrow(`is not known (${unread}): nothing was touched`);
    }
  });

  test.each([
    ['volumes of one array', lun, { ...lun, wwnWithExtension: '0x60050001' }],
    ['disks that say nothing', {}, {}],
    ['slots of a card reader', { serial: 'S', tran: 'usb' }, { serial: 'S', tran: 'usb' }],
    ['zeros for a WWN', { wwn: '0x0000000000000000' }, { wwn: '0x0000000000000000' }],
  ])('is no one piece of hardware: %s', (_name, first, second) => {
    const [kept, disk] = [testDevice({ name: '/dev/sda', ...first }), testDevice({ name: '/dev/sdb', ...second })];
    expect(diskKey(kept)).not.toBe(diskKey(disk));
  });

  test('is one piece of hardware, as are the namespaces of a subsystem', () => {
    const keyOf = (fields: Parameters<typeof testDevice>[0]) => diskKey(testDevice(fields));
    expect(keyOf({ name: '/dev/sda', ...lun })).toBe(keyOf({ name: '/dev/sdb', ...lun }));
    expect(keyOf({ name: '/dev/nvme0n1', wwn: 'eui.1' })).toBe(keyOf({ name: '/dev/nvme0n2', wwn: 'eui.2' }));
    const nvmeSubsystem = 'nqn.a';
    expect(keyOf({ name: '/dev/nvme0n1', nvmeSubsystem })).toBe(keyOf({ name: '/dev/nvme1n1', nvmeSubsystem }));
  });
});

test.each([
  ['by another name', { name: '/dev/nvme1n1' }],
  ['without capacity', { name: '/dev/nvme0n2', sizeBytes: 0 }],
  ['of another host', { name: '/dev/nvme0-nsid9', tran: 'nvme', sizeBytes: 0, isDetached: true }],
])('a namespace to be kept, %s, rules out what hits all of its subsystem', (_name, kept) => {
  const nvmeSubsystem = 'nqn.a';
  const disk = testDevice({ name: '/dev/nvme0n1', nvmeSubsystem });
  expect(sharesHardware(disk, [testDevice({ nvmeSubsystem, ...kept })])).toBe(true);
  expect(sharesHardware(disk, [testDevice({ ...kept, nvmeSubsystem: 'nqn.b' })])).toBe(false);
});
