import { expect, test } from 'vitest';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { chooseRootDevice } from '#shared/disks/choose-root-device.ts';
import { compareDisks } from '#shared/disks/same-disk.ts';
import { readSkipList } from '#shared/disks/skip-list.ts';

const sas = { serial: 'KJG', serials: ['KJG', '5000c5001'], model: 'ST', wwn: '0x5000c5001', tran: 'sas' };
const first = testDevice({ name: '/dev/sda', hctl: '0:0:0:0', links: ['/dev/disk/by-path/p0'], ...sas });
const second = testDevice({ name: '/dev/sdb', hctl: '0:0:1:0', links: ['/dev/disk/by-path/p1'], ...sas });
const unread = 'udevadm info took longer than 30000 ms';

test.each([
  ['one of several serial numbers', { ...second, wwn: null, serial: '5000c5001', serials: [] }, 'same'],
  [
    'the WWN without its extension',
    { ...second, serial: null, serials: [], wwnWithExtension: '0x5000c50010001' },
    'same',
  ],
  ['another serial number', { ...second, serial: 'OTHER', serials: ['OTHER'] }, 'other'],
  ['nothing, for udev was silent', { ...second, serial: null, serials: [], wwn: null, unread }, 'unknown'],
  ['nothing but another model', { ...second, serial: null, serials: [], wwn: null, model: 'X', unread }, 'other'],
  ['the serial number of a card reader', { ...second, wwn: null, tran: 'usb' }, 'other'],
] as const)('a second path that shows %s', (_shows, other, found) => {
  expect([compareDisks(first, other), compareDisks(other, first)]).toEqual([found, found]);
});

test.each([[{ hctl: '0:0:1:0' }], [{ by_path: '/dev/disk/by-path/p1' }], [{ name: '/dev/sdb' }]])(
  'a disk protected by one path, %j, is not deployed onto by the other',
  (entry) => {
    const node = { properties: { skip_block_devices: [entry] }, instance_info: {} };
    expect(() => chooseRootDevice([first, second], node)).toThrow(
      '/dev/sda (it is another path to /dev/sdb, which is on the skip list)',
    );
    const silent = { ...second, serial: null, serials: [], wwn: null, unread };
    expect(() => chooseRootDevice([first, silent], node)).toThrow(/on the skip list|is not known/);
    const free = testDevice({ name: '/dev/sdc', serial: 'FREE', model: 'ST' });
    expect(chooseRootDevice([first, second, free], node).name).toBe('/dev/sdc');
  },
);

test.each(['<in> wwn-0x5000c500a1b2c3d4', '<in> by-id', '<all-in> ata QEMU', '<or> /dev/sda <or> /dev/disk/by-id/x'])(
  'whether a disk that was not read is called %s is not known',
  (name) => {
    const isSkipped = readSkipList({ skip_block_devices: [{ name }] });
    expect(() => isSkipped(testDevice({ name: '/dev/sdq', unread }))).toThrow('is not known');
  },
);

test('the name that the kernel gives is known of any disk', () => {
  const isSkipped = readSkipList({ skip_block_devices: [{ name: '/dev/sdb' }] });
  expect([isSkipped(testDevice({ name: '/dev/sda', unread })), isSkipped({ ...second, unread })]).toEqual([
    false,
    true,
  ]);
});
