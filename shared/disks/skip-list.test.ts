import { expect, test } from 'vitest';
import {
  findUnmetEntries,
  protectedDevices,
  protectedNames,
  readSkipList,
  warnOfUnmetEntries,
  withoutProtected,
} from '#shared/disks/skip-list.ts';
import { testDisk } from '#shared/disks/testing/test-disk.ts';

const skipping = (...entries: unknown[]) => ({ skip_block_devices: entries });

test.each([
  [{ skip_block_devices: 'sda' }, 'must be a list'],
  [{ skip_block_devices: ['sda'] }, 'must be a list'],
  [skipping({ colour: 'red' }), 'skip_block_devices[0].colour is not a known hint'],
  [skipping({ serial: 'A' }, {}), 'skip_block_devices[1] is empty, and would name every disk'],
  [skipping({ serial: '' }), 'skip_block_devices[0].serial is empty'],
  [skipping({ serial: '0000000000' }), 'which makers put where a disk has no serial number'],
  [skipping({ volume_name: 'root' }), 'name each member by serial, wwn or by_path'],
])('%j is refused', (properties, why) => {
  expect(() => readSkipList(properties)).toThrow(why);
  expect(() => protectedDevices(properties, [])).toThrow(why);
});

test.each([
  '/dev/mapper/data-root',
  '/dev/dm-0',
  '/dev/data_vg/home',
  '/dev/disk/by-id/dm-name-data-root',
  '/dev/disk/by-id/lvm-pv-uuid-aBcD',
  '/dev/disk/by-uuid/0a1b',
  '/dev/disk/by-label/data',
  '/dev/sda1',
  '/dev/nvme0n1p2',
  '/dev/md127p1',
  '/dev/disk/by-id/wwn-0x5000c500a1b20001-part1',
  'sda',
  's== /dev/mapper/data-root',
  '<or> /dev/sda <or> /dev/mapper/data-root',
])('a name that no disk can have is refused, for it would protect nothing: %s', (name) => {
  const wrong = 'which no disk is called in the ramdisk: volumes of LVM, partitions and file systems';
  expect(() => readSkipList({ skip_block_devices: [{ serial: 'A' }, { name }] })).toThrow(wrong);
  expect(() => readSkipList({ skip_block_devices: [{ by_path: '/dev/disk/by-path/pci-1-part2' }] })).toThrow(wrong);
});

test.each([
  '/dev/sda',
  '/dev/nvme0n1',
  '/dev/mmcblk0',
  '/dev/pmem0',
  '/dev/md127',
  '/dev/md/data_0',
  '/dev/disk/by-id/md-name-any:data',
  '/dev/disk/by-path/pci-0000:00:1f.2-ata-1.0',
  '<or> /dev/sda <or> /dev/disk/by-id/ata-A',
  '<in> part1',
  's!= /dev/mapper/x',
  's== /dev/sda',
])('a name that a disk may have is not refused: %s', (name) => {
  expect(readSkipList({ skip_block_devices: [{ name }] })).toBeTypeOf('function');
});

test('each entry, what it protects, and a warning for one that protects nothing', () => {
  const disks = [
    testDisk({
      name: '/dev/sda',
      serial: 'A',
      links: ['/dev/disk/by-path/pci-1-ata-1', '/dev/disk/by-path/pci-1-ata-1.0'],
    }),
    testDisk({ name: '/dev/sdb', serial: 'B', holders: ['/dev/md0'] }),
    testDisk({ name: '/dev/sdc', serial: 'C', holders: ['/dev/md0'] }),
    testDisk({ name: '/dev/md0', type: 'raid1', wwn: 'a:b' }),
  ];
  const properties = skipping({ by_path: '/dev/disk/by-path/pci-1-ata-1' }, { wwn: 'a:b' }, { serial: 'GONE' });
  const protection = protectedDevices(properties, disks);
  expect(protection.map(({ devices }) => devices)).toEqual([['/dev/sda'], ['/dev/md0', '/dev/sdb', '/dev/sdc'], []]);
  expect(warnOfUnmetEntries(protection)).toEqual([
    'properties.skip_block_devices[2] {"serial":"GONE"} names no disk of this machine: nothing is protected by it',
  ]);
});

test('a disk that could not be read is neither protected nor free', () => {
  const unread = testDisk({ name: '/dev/sda', unread: 'udevadm took longer than 30000 ms' });
  expect(() => readSkipList(skipping({ name: '/dev/sdb' }, { serial: 'A' }))(unread)).toThrow(
    'whether properties.skip_block_devices[1] {"serial":"A"} names /dev/sda is not known (udevadm took longer',
  );
  // another entry says enough
  expect(readSkipList(skipping({ serial: 'A' }, { name: '/dev/sda' }))(unread)).toBe(true);
  expect(readSkipList(skipping({ size: '> 5000' }))(unread)).toBe(false);
  expect(readSkipList({})(unread)).toBe(false);
});

test('an entry for a volume on a volume protects all below, though each names only what is made of it', () => {
  const disks = [
    testDisk({ name: '/dev/sda', serial: 'A', holders: ['/dev/md0'] }),
    testDisk({ name: '/dev/md0', type: 'raid1', holders: ['/dev/md1'] }),
    testDisk({ name: '/dev/md1', type: 'raid0', wwn: 'c:d' }),
    testDisk({ name: '/dev/sdb', serial: 'B' }),
  ];
  const properties = skipping({ wwn: 'c:d' });
  expect([...protectedNames(properties, disks)]).toEqual(['/dev/md0', '/dev/md1', '/dev/sda']);
  expect(withoutProtected(properties, disks).map(({ name }) => name)).toEqual(['/dev/sdb']);
  // the volumes would be written through to the disk
  expect(withoutProtected(skipping({ serial: 'A' }), disks).map(({ name }) => name)).toEqual(['/dev/sdb']);
});

test('another entry says enough of a disk that could not be read, here too', () => {
  const unread = testDisk({ name: '/dev/sda', unread: 'udevadm took longer than 30000 ms' });
  expect([...protectedNames(skipping({ serial: 'A' }, { name: '/dev/sda' }), [unread])]).toEqual(['/dev/sda']);
  expect(() => protectedNames(skipping({ serial: 'A' }), [unread])).toThrow('is not known');
});

test('an entry that may name a disk which could not be read is not said to name none', () => {
  const unread = testDisk({ name: '/dev/sda', unread: 'udevadm took longer than 30000 ms' });
  const properties = skipping({ serial: 'A' }, { name: '/dev/sdz' });
  expect(findUnmetEntries(properties, [unread])).toEqual([
    'properties.skip_block_devices[1] {"name":"/dev/sdz"} names no disk of this machine: nothing is protected by it',
  ]);
  expect(() => findUnmetEntries(skipping({}), [])).toThrow('skip_block_devices[0] is empty');
});
