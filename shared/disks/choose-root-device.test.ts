import { describe, expect, test } from 'vitest';
import { chooseRootDevice } from '#shared/disks/choose-root-device.ts';
import type { Disk } from '#shared/disks/disk.ts';
import { testDisk } from '#shared/disks/testing/test-disk.ts';

const gib = 1024 ** 3;
const node = (properties: object = {}, instanceInfo: object = {}) => ({
  properties: { ...properties },
  instance_info: { ...instanceInfo },
});
const disk = (name: string, size: number, fields: Partial<Disk> = {}): Disk =>
  testDisk({ name, sizeBytes: size * gib, ...fields });

describe('without hints', () => {
  test('the smallest of at least 4 GiB, ties by name', () => {
    const disks = [disk('/dev/sdc', 8), disk('/dev/sdb', 8), disk('/dev/sda', 100), disk('/dev/sdd', 3.9)];
    expect(chooseRootDevice(disks, node()).name).toBe('/dev/sdb');
  });

  test('never one that is in use, read-only, empty or no disk', () => {
    const disks = [
      disk('/dev/sda', 5, { mountpoints: ['/data'] }),
      disk('/dev/sdb', 5, { readOnly: true }),
      disk('/dev/sdc', 0),
      disk('/dev/sdd', 5, { holders: ['/dev/md0'] }),
      disk('/dev/zram0', 5),
      disk('/dev/sr0', 5, { type: 'rom' }),
      disk('/dev/sde', 2),
    ];
    expect(() => chooseRootDevice(disks, node())).toThrow(
      'no disk can be the root device (no root device hints are set): ' +
        '/dev/sda (it is mounted on /data), /dev/sdb (it is read-only), ' +
        '/dev/sdc (it has no medium; it is smaller than 4 GiB), /dev/sdd (it is used by /dev/md0), ' +
        '/dev/sde (it is smaller than 4 GiB)',
    );
    expect(chooseRootDevice([...disks, disk('/dev/md0', 5, { type: 'raid1' })], node()).name).toBe('/dev/md0');
  });

  test('never one that can be pulled out', () => {
    const disks = [
      disk('/dev/sda', 8, { tran: 'usb' }),
      disk('/dev/sdb', 8, { removable: true }),
      disk('/dev/mapper/a', 8, { type: 'mpath' }),
    ];
    expect(chooseRootDevice([...disks, disk('/dev/sdc', 480)], node()).name).toBe('/dev/sdc');
    expect(() => chooseRootDevice(disks, node())).toThrow(
      '/dev/sda (it is removable, and no hint names it), /dev/sdb (it is removable, and no hint names it)',
    );
    // who asks for it gets it
    expect(chooseRootDevice(disks, node({ root_device: { name: '/dev/sda' } })).name).toBe('/dev/sda');
    expect(chooseRootDevice(disks, node({ root_device: { name: '/dev/sdb' } })).name).toBe('/dev/sdb');
  });

  test('a machine without disks', () => {
    expect(() => chooseRootDevice([], node({ root_device: {} }))).toThrow(/the machine has no disk/);
  });
});

describe('with hints', () => {
  const disks = [disk('/dev/sdb', 100, { serial: 'B' }), disk('/dev/sda', 100, { serial: 'A' }), disk('/dev/sdc', 1)];

  test('the first by name that satisfies all', () => {
    expect(chooseRootDevice(disks, node({ root_device: { size: '>= 50' } })).name).toBe('/dev/sda');
    expect(chooseRootDevice(disks, node({ root_device: { size: '>= 50', serial: 'b' } })).name).toBe('/dev/sdb');
    expect(chooseRootDevice(disks, node({ root_device: { name: '/dev/sdc' } })).name).toBe('/dev/sdc');
  });

  test('the instance goes before the node', () => {
    const both = node({ root_device: { serial: 'A' } }, { root_device: { serial: 'B' } });
    expect(chooseRootDevice(disks, both).name).toBe('/dev/sdb');
  });

  test('no match tells every disk and why', () => {
    expect(() => chooseRootDevice(disks, node({ root_device: { size: 200, serial: 'A' } }))).toThrow(
      'no disk can be the root device (properties.root_device is {"size":200,"serial":"A"}): ' +
        '/dev/sdb (size is 100 GiB, wanted 200; serial is B, wanted A), /dev/sda (size is 100 GiB, wanted 200), ' +
        '/dev/sdc (size is 1 GiB, wanted 200; serial is unknown, wanted A)',
    );
  });

  test('a path that udev gives to two disks names neither', () => {
    const links = ['/dev/disk/by-path/pci-0000:74:02.0-sas-exp0x500e004aaaaaaa1f-phy0-lun-0'];
    const alike = [disk('/dev/sda', 10, { links, serial: 'A' }), disk('/dev/sdb', 10, { links, serial: 'B' })];
    expect(() => chooseRootDevice(alike, node({ root_device: { by_path: links[0] } }))).toThrow(
      'properties.root_device.by_path names /dev/sda and /dev/sdb alike: ' +
        'add a hint that one of them alone meets, such as serial, wwn or size',
    );
    const both = node({ root_device: { by_path: links[0], serial: 'B' } });
    expect(chooseRootDevice(alike, both).name).toBe('/dev/sdb');
    expect(chooseRootDevice(alike, node({ root_device: { by_path: '<in> sas-exp' } })).name).toBe('/dev/sda');
  });

  describe('an identifier that fits several disks', () => {
    const namespace = (place: number, size: number, fields: Partial<Disk> = {}) =>
      disk(`/dev/nvme0n${place}`, size, {
        serial: 'S4EV',
        model: 'PM983',
        wwn: `eui.002538500000000${place}`,
        ...fields,
      });
    const alike = [namespace(2, 100), namespace(1, 100), disk('/dev/sda', 100, { serial: 'A' })];
    const volumes = ['a', 'b'].map((end) =>
      disk(`/dev/sd${end}`, 100, { wwn: '0x600a0b800012', wwnWithExtension: `0x600a0b80001200${end}` }),
    );

    test.each([
      ['a serial number of namespaces', alike, { serial: 'S4EV' }, 'serial names /dev/nvme0n1 and /dev/nvme0n2'],
      ['… after its operator', alike, { serial: 'S== s4ev' }, 'serial names /dev/nvme0n1 and /dev/nvme0n2'],
      ['a WWN of volumes', volumes, { wwn: '0x600A0B800012' }, 'wwn names /dev/sda and /dev/sdb'],
      [
        'with one that tells too little',
        [namespace(1, 100), namespace(2, 200), namespace(3, 300)],
        { serial: 'S4EV', size: '>= 200' },
        'serial names /dev/nvme0n2 and /dev/nvme0n3',
      ],
    ])('%s is refused', (_what, devices, hints, message) => {
      expect(() => chooseRootDevice(devices, node({ root_device: hints }))).toThrow(
        `properties.root_device.${message} alike: add a hint that one of them alone meets`,
      );
    });

    test.each([
      ['with a size', { serial: 'S4EV', size: 200 }, [namespace(1, 100), namespace(2, 200)], '/dev/nvme0n2'],
      ['with a WWN', { serial: 'S4EV', wwn: 'eui.0025385000000002' }, alike, '/dev/nvme0n2'],
      ['the others on the skip list', { serial: 'S4EV' }, alike, '/dev/nvme0n2'],
      ['a pattern', { serial: '<in> S4E' }, alike, '/dev/nvme0n1'],
      ['a choice', { serial: '<or> S4EV <or> A' }, alike, '/dev/nvme0n1'],
      ['a choice of names', { name: '<or> /dev/nvme0n2 <or> /dev/sda' }, alike, '/dev/nvme0n2'],
      ['all but one', { serial: 'S!= A' }, alike, '/dev/nvme0n1'],
      ['disks without', { serial: 'none' }, [disk('/dev/sdb', 10), disk('/dev/sdc', 10)], '/dev/sdb'],
    ])('%s is not', (what, hints, devices, chosen) => {
      const skip = what.includes('skip') ? [{ wwn: 'eui.0025385000000001' }] : [];
      expect(chooseRootDevice(devices, node({ root_device: hints, skip_block_devices: skip })).name).toBe(chosen);
    });

    test.each([
      ['by its WWN', { wwn: '0x5000c50000000001' }, { wwn: '0x5000c50000000001' }],
      ['by its serial number', { serial: 'ZC1' }, { serial: 'ZC1' }],
      ['by its serial number, with a WWN', { wwn: '0x5000c50000000001', serial: 'ZC1' }, { serial: 'zc1' }],
    ])('several paths to one disk are one, %s', (_what, fields, hints) => {
      const paths = [disk('/dev/sdb', 10, fields), disk('/dev/sda', 10, fields)];
      expect(chooseRootDevice(paths, node({ root_device: hints })).name).toBe('/dev/sda');
    });
  });

  test('a hint does not open a disk that is in use', () => {
    const used = [disk('/dev/sda', 10, { mountpoints: ['/'] })];
    expect(() => chooseRootDevice(used, node({ root_device: { name: '/dev/sda' } }))).toThrow(/it is mounted on \//);
  });

  test('hints must be an object', () => {
    expect(() => chooseRootDevice(disks, node({ root_device: '/dev/sda' }))).toThrow(
      /must be an object of root device hints/,
    );
  });
});

describe('the skip list', () => {
  const disks = [disk('/dev/sda', 10, { serial: 'PRECIOUS' }), disk('/dev/sdb', 20)];
  const skip = [{ serial: 'precious' }];

  test('keeps a disk from being chosen, hints or not', () => {
    expect(chooseRootDevice(disks, node({ skip_block_devices: skip })).name).toBe('/dev/sdb');
    expect(() =>
      chooseRootDevice(disks, node({ skip_block_devices: skip, root_device: { name: '/dev/sda' } })),
    ).toThrow(/\/dev\/sda \(it is on the skip list\)/);
  });

  test('covers a volume that stands on such a disk', () => {
    const raid = [
      disk('/dev/sda', 10, { serial: 'PRECIOUS', holders: ['/dev/md0'] }),
      disk('/dev/md0', 10, { type: 'raid1' }),
    ];
    expect(() => chooseRootDevice(raid, node({ skip_block_devices: skip }))).toThrow(
      /\/dev\/md0 \(it stands on a disk on the skip list\)/,
    );
  });

  test('covers what such a volume is made of, and another path to that', () => {
    const path = { serial: 'A', wwn: '0x5000c50000000001' };
    const raid = [
      disk('/dev/sda', 10, { ...path, holders: ['/dev/md0'] }),
      disk('/dev/sdb', 10, path),
      disk('/dev/md0', 10, { type: 'raid1', wwn: 'a:b', holders: ['/dev/md1'] }),
      disk('/dev/md1', 10, { type: 'raid1', wwn: 'c:d' }),
    ];
    for (const entry of [{ wwn: 'a:b' }, { wwn: 'c:d' }]) {
      expect(() => chooseRootDevice(raid, node({ skip_block_devices: [entry] }))).toThrow(
        /it is part of \/dev\/md\d, which is on the skip list.*\/dev\/sdb \(it is another path to \/dev\/sda, which/,
      );
    }
    expect(() => chooseRootDevice(raid, node({ skip_block_devices: [{ serial: 'A' }] }))).toThrow(
      /\/dev\/md1 \(it stands on a disk on the skip list\)/,
    );
  });

  test('may name a disk that could not be read, which is left alone then', () => {
    const unread = [disk('/dev/sda', 10, { unread: 'udevadm took too long' }), disk('/dev/sdb', 20)];
    expect(chooseRootDevice(unread, node({ skip_block_devices: skip })).name).toBe('/dev/sdb');
    expect(() => chooseRootDevice(unread.slice(0, 1), node({ skip_block_devices: skip }))).toThrow(
      /names \/dev\/sda is not known \(udevadm took too long\)/,
    );
    expect(chooseRootDevice(unread, node()).name).toBe('/dev/sda');
  });

  test('one that is not understood stops it', () => {
    expect(() => chooseRootDevice(disks, node({ skip_block_devices: 'sda' }))).toThrow(
      /skip_block_devices must be a list/,
    );
    expect(() => chooseRootDevice(disks, node({ skip_block_devices: [{ colour: 'red' }] }))).toThrow(
      /skip_block_devices\[0\].colour is not a known hint/,
    );
  });
});
