import { expect, test } from 'vitest';
import { parseLsblk } from '#agent/storage/lsblk.ts';

/** `lsblk --json --bytes --tree` of util-linux 2.38, cut to two disks that share a mirror. */
const recorded = JSON.stringify({
  blockdevices: [
    {
      name: 'nvme0n1',
      path: '/dev/nvme0n1',
      type: 'disk',
      size: 512_110_190_592,
      model: 'SAMSUNG MZVLB512HBJQ-000L7              ',
      vendor: null,
      serial: 'S4ENNX0R123456',
      wwn: 'eui.0025388b01234567',
      hctl: null,
      rota: false,
      tran: 'nvme',
      ro: false,
      rm: false,
      'log-sec': 512,
      'phy-sec': 4096,
      mountpoints: [null],
      children: [
        { name: 'nvme0n1p1', path: '/dev/nvme0n1p1', type: 'part', size: 536_870_912, mountpoints: ['/boot/efi'] },
        {
          name: 'nvme0n1p12',
          path: '/dev/nvme0n1p12',
          type: 'part',
          size: 511_572_246_528,
          mountpoints: [null],
          children: [
            { name: 'md0', path: '/dev/md0', type: 'raid1', size: 511_438_028_800, mountpoints: ['/', '/srv'] },
            { name: 'md1', path: '/dev/md1', type: 'raid1', size: 1000, mountpoints: ['[SWAP]'] },
          ],
        },
      ],
    },
    {
      name: 'sda',
      path: '/dev/sda',
      type: 'disk',
      size: 0,
      hctl: '0:0:0:0',
      rota: true,
      rm: true,
      ro: true,
      'log-sec': 4096,
      'phy-sec': 4096,
    },
  ],
});

test('disks with partitions, what stands on them and where it is mounted', () => {
  const [nvme, sda] = parseLsblk(recorded);
  expect(nvme).toMatchObject({
    name: '/dev/nvme0n1',
    sizeBytes: 512_110_190_592,
    model: 'SAMSUNG MZVLB512HBJQ-000L7',
    vendor: null,
    serial: 'S4ENNX0R123456',
    wwn: 'eui.0025388b01234567',
    rotational: false,
    tran: 'nvme',
    logicalSectorBytes: 512,
    physicalSectorBytes: 4096,
    mountpoints: ['/boot/efi', '/', '/srv', '[SWAP]'],
    holders: ['/dev/md0', '/dev/md1'],
    partitions: [
      { name: '/dev/nvme0n1p1', number: 1, sizeBytes: 536_870_912 },
      { name: '/dev/nvme0n1p12', number: 12, sizeBytes: 511_572_246_528 },
    ],
  });
  expect(sda).toMatchObject({
    sizeBytes: 0,
    hctl: '0:0:0:0',
    readOnly: true,
    removable: true,
    logicalSectorBytes: 4096,
  });
});

test('a machine without disks', () => {
  expect(parseLsblk('')).toEqual([]);
});

test('what is not a list of devices', () => {
  expect(() => parseLsblk('lsblk: bad')).toThrow(/read lsblk's list/);
});

test('whether a disk turns that says nothing of it is not known', () => {
  const node = { name: 'sda', path: '/dev/sda', type: 'disk', size: 1, rota: null };
  expect(parseLsblk(JSON.stringify({ blockdevices: [node] }))[0]?.rotational).toBeNull();
});
