import { expect, test } from 'vitest';
import { findOsDisks } from '#shared/disks/find-os-disks.ts';
import { testDisk } from '#shared/disks/testing/test-disk.ts';
import { OsDisk } from '#shared/wire/erase-result.ts';

const recorded = (...disks: readonly object[]): OsDisk =>
  OsDisk.parse({ disks: disks.map((disk) => ({ name: '/dev/sda', ...disk })) });
const gib = 1024 ** 3;

test('by serial number and WWN, whatever the disk is called now', () => {
  const disks = [
    testDisk({ name: '/dev/sda', serial: 'DATA' }),
    testDisk({ name: '/dev/sdb', serial: 'OS' }),
    testDisk({ name: '/dev/sdc', wwn: '0x5000' }),
  ];
  expect(findOsDisks(disks, recorded({ serial: 'OS', size: 10 * gib })).map(({ name }) => name)).toEqual(['/dev/sdb']);
  expect(findOsDisks(disks, recorded({ wwn: '0x5000' }, { serial: 'OS' })).map(({ name }) => name)).toEqual([
    '/dev/sdc',
    '/dev/sdb',
  ]);
});

test('by a serial number and a WWN that an older release has written otherwise', () => {
  const disks = [
    testDisk({
      name: '/dev/sda',
      serial: 'KJGATM4R',
      serials: ['KJGATM4R', '5000cca0541ae674'],
      wwn: '0x5000cca0541ae674',
    }),
    testDisk({ name: '/dev/sdb', serial: 'KJGATM5S' }),
  ];
  const by = recorded({
    serial: '5000cca0541ae674',
    wwn: 'naa.5000cca0541ae674',
    wwn_with_extension: '0x5000cca0541ae674',
  });
  expect(findOsDisks(disks, by).map(({ name }) => name)).toEqual(['/dev/sda']);
});

test.each([{ serial: '0000000000' }, { wwn: '0x5000000000000001' }, { wwn_with_extension: 'eui.0000000000000000' }])(
  'a placeholder identifies nothing: %j',
  (identity) => {
    expect(() => findOsDisks([testDisk(identity)], recorded(identity))).toThrow('neither serial number nor WWN');
  },
);

test('two namespaces of a controller have one serial number', () => {
  const disks = ['eui.01', 'eui.02'].map((wwn, index) =>
    testDisk({ name: `/dev/nvme0n${index + 1}`, serial: 'S', wwn }),
  );
  expect(findOsDisks(disks, recorded({ serial: 'S', wwn: 'eui.02' })).map(({ name }) => name)).toEqual([
    '/dev/nvme0n2',
  ]);
  expect(() => findOsDisks(disks, recorded({ serial: 'S' }))).toThrow('it could be each of /dev/nvme0n1, /dev/nvme0n2');
});

test.each([
  [{ serial: 'GONE' }, 'it is not in this machine'],
  [{ serial: 'A', size: 5 * gib }, 'it is not in this machine'],
  [{ serial: 'A', wwn: '0x1' }, 'it is not in this machine'],
  [{ model: 'DISK', by_path: '/dev/disk/by-path/pci-1' }, 'it has neither serial number nor WWN'],
])('%j is refused', (identity, why) => {
  const disks = [
    testDisk({ name: '/dev/sda', serial: 'A', model: 'DISK' }),
    testDisk({ name: '/dev/sdb', serial: 'B' }),
  ];
  expect(() => findOsDisks(disks, recorded(identity))).toThrow(why);
  expect(() => findOsDisks(disks, recorded(identity))).toThrow(
    'the machine has /dev/sda (serial A, WWN unknown, DISK, 10737418240 bytes), /dev/sdb (serial B',
  );
});

test('one disk for two that were recorded', () => {
  const disks = [testDisk({ serial: 'A', wwn: 'W' })];
  expect(() => findOsDisks(disks, recorded({ serial: 'A' }, { wwn: 'W' }))).toThrow('/dev/vda was recorded twice');
});
