import { describe, expect, test } from 'vitest';
import { prepareOsDisk } from '#agent/erase/prepare-disks.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { lvmUuids, recordedVolume } from '#agent/storage/testing/recorded-lvm.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { createInstantClock } from '#agent/testing/fake-clock.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { readEraseOptions } from '#shared/in-band/erase-options.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import { OsDisk } from '#shared/wire/erase-result.ts';

const rootArray = '3aaa0122:29827cfa:5331ad66:ca767371';
const dataArray = '97a2f5c7:1b8a1b32:0a7a3d59:ab0d6a11';
const partition = (disk: string, number: number) => ({ name: `${disk}${number}`, number, sizeBytes: 1024 ** 3 });
const os = testDevice({
  name: '/dev/sda',
  serial: 'OS',
  partitions: [partition('/dev/sda', 1), partition('/dev/sda', 2)],
});
const data = testDevice({ name: '/dev/sdb', serial: 'DATA', model: 'BIG', partitions: [partition('/dev/sdb', 1)] });
const more = testDevice({ name: '/dev/sdc', serial: 'MORE' });

/** Contents of devices, as blkid and mdadm tell them. */
interface Contents {
  readonly blkid?: Readonly<Record<string, string>>;
  readonly arrays?: Readonly<
    Record<string, { readonly uuid: string; readonly name: string; readonly offset?: number }>
  >;
  readonly bytes?: Readonly<Record<string, Buffer>>;
  /** It answers every read with an error. */
  readonly broken?: string;
}

function prepare(
  devices: readonly BlockDevice[],
  contents: Contents = {},
  only: object = { disks: [{ name: '/dev/sda', serial: 'OS' }] },
  properties: Record<string, unknown> = {},
) {
  const changes: string[] = [];
  const run: Run = (command, args) => {
    const device = args.at(-1) ?? '';
    const array = contents.arrays?.[device];
    if (command === 'blkid') return Promise.resolve(ranWell(contents.blkid?.[device] ?? ''));
    if (command === 'mdadm' && args[0] === '--examine') {
      const text = args.includes('--export') ? `MD_UUID=${array?.uuid}\nMD_NAME=any:${array?.name}\n` : '';
      const offset = array?.offset === undefined ? '' : `    Data Offset : ${array.offset} sectors\n`;
      return Promise.resolve(array ? ranWell(text || offset) : { ...ranWell(), exitCode: 1 });
    }
    if (!['udevadm', 'hdparm', 'nvme'].includes(command)) changes.push([command, ...args].join(' '));
    return Promise.resolve(ranWell());
  };
  const node = { uuid: 'n', properties, instance_info: {}, driver_internal_info: {} };
  const services = {
    run,
    node,
    log: silentLog,
    signal: new AbortController().signal,
    clock: createInstantClock(),
    reportProgress: () => undefined,
  };
  const prepared = prepareOsDisk(services, readEraseOptions(node), OsDisk.parse(only), {
    list: () => Promise.resolve(devices),
    stopArraysOn: (_, disks) => Promise.resolve(changes.push(...disks.map(({ name }) => `stop arrays on ${name}`))),
    readBytes: async (device, offset, length) => {
      if (contents.broken === device) throw new AppError('storage_error', `read ${device} at byte ${offset}`);
      return (contents.bytes?.[device] ?? Buffer.alloc(0)).subarray(offset, offset + length);
    },
  });
  return { prepared, changes };
}

describe("only the operating system's disk", () => {
  test('is erased, the others are kept and told', async () => {
    const { prepared, changes } = prepare([os, data, more]);
    const { disks, kept, skipped } = await prepared;
    expect(disks).toEqual([os]);
    expect(kept).toEqual([data, more]);
    const silent = { wwn: null, serials: [], wwns: [] };
    expect(skipped).toEqual([
      { device: '/dev/sdb', serial: 'DATA', model: 'BIG', reason: 'local storage is preserved', ...silent },
      { device: '/dev/sdc', serial: 'MORE', model: null, reason: 'local storage is preserved', ...silent },
    ]);
    expect(changes).toEqual(['stop arrays on /dev/sda']);
  });

  test('what is dead or detached is kept, and told', async () => {
    const dead = testDevice({ name: '/dev/sdb', serial: 'DEAD', sizeBytes: 0 });
    const detached = testDevice({ name: '/dev/nvme0-nsid2', tran: 'nvme', sizeBytes: 0, isDetached: true });
    const { kept, skipped } = await prepare([os, dead, detached]).prepared;
    expect(kept).toEqual([dead, detached]);
    expect(skipped).toMatchObject([
      { device: '/dev/nvme0-nsid2', reason: 'it is a namespace that is not attached to this machine' },
      { device: '/dev/sdb', reason: 'local storage is preserved' },
    ]);
  });

  test('by another path they are refused', async () => {
    const twin = { ...more, serial: null, wwn: '0x5' };
    const { prepared, changes } = prepare([{ ...os, wwn: '0x5' }, twin]);
    await expect(prepared).rejects.toThrow('/dev/sda (serial OS) would be erased and is the same disk as /dev/sdc');
    expect(changes).toEqual([]);
  });

  test("arrays and groups of the others alone are nobody's business", async () => {
    const { prepared } = prepare([os, data, more], {
      blkid: { '/dev/sdb1': 'TYPE=linux_raid_member\n', '/dev/sdc': 'TYPE=LVM2_member\n' },
      arrays: { '/dev/sdb1': { uuid: dataArray, name: 'data', offset: 2048 } },
      bytes: { '/dev/sdc': recordedVolume(0) },
    });
    expect((await prepared).disks).toEqual([os]);
  });

  test('what the skip list names keeps that reason', async () => {
    const { prepared } = prepare([os, data], {}, undefined, { skip_block_devices: [{ serial: 'DATA' }] });
    expect((await prepared).skipped).toMatchObject([{ device: '/dev/sdb', reason: 'it is on the skip list' }]);
  });

  test('is an array’s members, with the array of their EFI system partitions', async () => {
    const members = [os, { ...data, partitions: [partition('/dev/sdb', 1), partition('/dev/sdb', 2)] }];
    const arrays = Object.fromEntries(
      ['/dev/sda', '/dev/sdb'].flatMap((disk) => [
        [`${disk}1`, { uuid: dataArray, name: 'esp' }],
        [`${disk}2`, { uuid: rootArray, name: 'root', offset: 2048 }],
      ]),
    );
    const only = {
      disks: [
        { name: 'a', serial: 'OS' },
        { name: 'b', serial: 'DATA' },
      ],
      array_uuid: rootArray,
    };
    expect((await prepare([...members, more], { arrays }, only).prepared).disks).toEqual(members);
    const other = { ...arrays, '/dev/sdb1': { uuid: dataArray, name: 'vault' } };
    const { prepared, changes } = prepare([...members, more], { arrays: other }, only);
    await expect(prepared).rejects.toThrow(
      `the RAID array vault (${dataArray}) is on /dev/sdb1 of /dev/sdb (serial DATA)`,
    );
    expect(changes).toEqual([]);
  });
});

describe('is refused before anything is touched', () => {
  const cases: readonly (readonly [string, Contents, readonly BlockDevice[], string])[] = [
    [
      'an array shared with a disk to be kept',
      {
        arrays: {
          '/dev/sda2': { uuid: dataArray, name: 'data', offset: 2048 },
          '/dev/sdb1': { uuid: dataArray, name: 'data', offset: 2048 },
        },
      },
      [os, data],
      'the RAID array data is on /dev/sda2 of /dev/sda (serial OS), which would be wiped, and on /dev/sdb1 of /dev/sdb (serial DATA)',
    ],
    [
      'a volume group shared with one, whichever carries its description',
      {
        blkid: { '/dev/sda2': 'TYPE=LVM2_member\n', '/dev/sdb1': 'TYPE=LVM2_member\n' },
        bytes: { '/dev/sda2': recordedVolume(1), '/dev/sdb1': recordedVolume(0) },
      },
      [os, data],
      'the volume group data_vg is on /dev/sda2 of /dev/sda (serial OS), which would be wiped, and on /dev/sdb1',
    ],
    [
      'a volume group whose other volume may be inside an array',
      {
        blkid: { '/dev/sdb1': 'TYPE=LVM2_member\n' },
        arrays: { '/dev/sda2': { uuid: rootArray, name: 'root', offset: 2048 } },
        bytes: { '/dev/sdb1': recordedVolume(0) },
      },
      [os, data],
      `has physical volumes that can't be seen (${lvmUuids[1]}): they may lie inside a volume on /dev/sda (serial OS)`,
    ],
    [
      'a btrfs over both',
      { blkid: { '/dev/sda2': 'TYPE=btrfs\nUUID=b-1\nLABEL=pool\n', '/dev/sdb': 'TYPE=btrfs\nUUID=b-1\n' } },
      [os, data],
      'the btrfs file system pool is on /dev/sda2',
    ],
    [
      'an array that runs over both',
      {},
      [
        { ...os, holders: ['/dev/md0'] },
        { ...data, holders: ['/dev/md0'] },
      ],
      'are both members of /dev/md0',
    ],
    ['a disk that cannot be read', { broken: '/dev/sdb' }, [os, data], 'read /dev/sdb at byte 0'],
    ['a mounted one', {}, [{ ...os, mountpoints: ['/mnt'] }, data], 'is in use: mounted on /mnt'],
    ['one that is not there', {}, [data], 'it is not in this machine'],
    [
      'a read-only one',
      {},
      [{ ...os, readOnly: true }, data],
      "the operating system's disk /dev/sda can't be wiped: it is read-only",
    ],
    [
      'a file system of several machines',
      { blkid: { '/dev/sda1': 'TYPE=gfs2\n' } },
      [os, data],
      '/dev/sda1 holds GFS2',
    ],
  ];
  test.each(cases)('%s', async (_, contents, devices, why) => {
    const { prepared, changes } = prepare(devices, contents);
    await expect(prepared).rejects.toThrow(why);
    expect(changes).toEqual([]);
  });

  test('one on the skip list', async () => {
    const { prepared } = prepare([os, data], {}, undefined, { skip_block_devices: [{ serial: 'OS' }] });
    await expect(prepared).rejects.toThrow("disk /dev/sda can't be wiped: it is on the skip list");
  });
});
