import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { requireNoTwins } from '#agent/erase/require-erasable.ts';
import { toDiskInfo } from '#agent/hardware/inventory.ts';
import { addIdentity, byPathsFromSysPath, parseUdevProperties } from '#agent/storage/device-identity.ts';
import type { BlockDevice } from '#agent/storage/lsblk.ts';
import { RecordedDisks, readingOf, readRecordedDisks } from '#agent/storage/testing/recorded-disks.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { readSkipList } from '#shared/disks/skip-list.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

/** `udevadm info --query=property --name=/dev/sda` of systemd 252, a SAS disk. */
const recorded = `DEVPATH=/devices/pci0000:00/0000:00:02.2/0000:03:00.0/host0/target0:2:0/0:2:0:0/block/sda
DEVNAME=/dev/sda
ID_VENDOR=DELL
ID_MODEL=PERC_H730_Mini
ID_SERIAL=36d0946603d2e8f00229ff5b80a4b8d5c
ID_SERIAL_SHORT=6d0946603d2e8f00229ff5b80a4b8d5c
ID_WWN=0x6d0946603d2e8f00
ID_WWN_VENDOR_EXTENSION=0x229ff5b80a4b8d5c
ID_WWN_WITH_EXTENSION=0x6d0946603d2e8f00229ff5b80a4b8d5c
DEVLINKS=/dev/disk/by-id/wwn-0x6d0946603d2e8f00229ff5b80a4b8d5c /dev/disk/by-path/pci-0000:03:00.0-scsi-0:2:0:0
`;

const recordings = await readRecordings('disks', RecordedDisks);

test.each(recordings)('$name: $shows', async ({ outputs, reading }) => {
  const devices = await readRecordedDisks(outputs);
  expect(readingOf(devices, reading)).toEqual(reading);
  expect(devices.map(({ unread }) => unread)).toEqual(devices.map(() => undefined));
});

test('the recorded paths to one disk are one disk, and no other two are', async () => {
  const read = recordings.map(async ({ name, outputs }) =>
    (await readRecordedDisks(outputs)).map((device) => ({ device, name: `${name} ${device.name}` })),
  );
  const devices = (await Promise.all(read)).flat();
  const twins = devices.flatMap((one, index) =>
    devices
      .slice(index + 1)
      .flatMap((other) => (areTwins(one.device, other.device) ? [`${one.name} = ${other.name}`] : [])),
  );
  expect(twins).toEqual([expect.stringMatching(/^sas\/two-paths-a \S+ = sas\/two-paths-b \S+$/)]);
});

function areTwins(one: BlockDevice, other: BlockDevice): boolean {
  try {
    requireNoTwins([one], [other]);
    return false;
  } catch {
    return true;
  }
}

test("udev's properties", () => {
  expect(parseUdevProperties(recorded)).toEqual({
    model: 'PERC_H730_Mini',
    vendor: 'DELL',
    labels: [],
    serials: ['6d0946603d2e8f00229ff5b80a4b8d5c', '36d0946603d2e8f00229ff5b80a4b8d5c'],
    wwns: ['0x6d0946603d2e8f00', '0x6d0946603d2e8f00229ff5b80a4b8d5c'],
    wwnWithExtension: '0x6d0946603d2e8f00229ff5b80a4b8d5c',
    wwnVendorExtension: '0x229ff5b80a4b8d5c',
    links: [
      '/dev/disk/by-id/wwn-0x6d0946603d2e8f00229ff5b80a4b8d5c',
      '/dev/disk/by-path/pci-0000:03:00.0-scsi-0:2:0:0',
    ],
    idPath: null,
  });
});

test("an array's UUID is its WWN, and its name is a link", () => {
  const array = 'DEVNAME=/dev/md127\nMD_LEVEL=raid1\nMD_UUID=3aaa0122:29827cfa:5331ad66:ca767371\nMD_NAME=any:md0\n';
  expect(parseUdevProperties(array).wwns).toEqual(['3aaa0122:29827cfa:5331ad66:ca767371']);
  const links = ['/dev/disk/by-id/md-name-any:data', '/dev/md/data'];
  expect(parseUdevProperties(`DEVLINKS=${links.toReversed().join(' ')}\n`).links).toEqual(links);
});

test('names after contents are not among the links: tenants choose them', () => {
  const links = ['by-label/KEEP', 'by-uuid/a', 'by-id/lvm-pv-uuid-a', 'by-diskseq/1', 'by-id/ata-A', 'by-path/pci-1'];
  const properties = `DEVLINKS=${links.map((link) => `/dev/disk/${link}`).join(' ')}\n`;
  expect(parseUdevProperties(properties).links).toEqual(['/dev/disk/by-id/ata-A', '/dev/disk/by-path/pci-1']);
});

test.each([
  ['/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda', ['pci-0000:00:02.0', 'virtio-pci-0000:00:02.0']],
  ['/sys/devices/pci0000:00/0000:00:01.2/0000:02:00.0/nvme/nvme0/nvme0n1', ['pci-0000:02:00.0-nvme-1']],
  [
    '/sys/devices/pci0000:00/0000:00:1f.2/ata9/host2/target2:0:0/2:0:0:0/block/sda',
    ['pci-0000:00:1f.2-ata-3.0', 'pci-0000:00:1f.2-ata-3'],
  ],
  ['/sys/devices/pci0000:00/0000:00:1f.1/ata1/host0/target0:0:1/0:0:1:0/block/sdb', ['pci-0000:00:1f.1-ata-3.1']],
  ['/sys/devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:4:0/2:4:0:0/block/sde', ['pci-0000:00:1f.2-ata-3.4.0']],
  [
    '/sys/devices/pci0000:00/0000:00:05.0/virtio2/host2/target2:0:1/2:0:1:0/block/sda',
    ['pci-0000:00:05.0-scsi-0:0:1:0'],
  ],
  [
    '/sys/devices/pci0000:00/0000:00:02.2/0000:03:00.0/host0/target0:2:0/0:2:0:0/block/sda',
    ['pci-0000:03:00.0-scsi-0:2:0:0'],
  ],
])('by-path of %s', (sysPath, names) => {
  expect(byPathsFromSysPath(sysPath, '3')).toEqual(names.map((name) => `/dev/disk/by-path/${name}`));
});

test.each([
  '/sys/devices/virtual/block/loop0',
  '/sys/devices/pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host2/target2:0:0/2:0:0:0/block/sdd',
])('no by-path for what is not known: %s', (path) => {
  expect(byPathsFromSysPath(path)).toEqual([]);
});

describe('udev that does not answer', () => {
  const roots = { sys: '/nowhere', dev: '/nowhere' };
  const slow = new AppError('timeout', 'udevadm info took longer than 30000 ms');

  test('is asked again', async () => {
    let asked = 0;
    const run: Run = () => {
      asked += 1;
      return asked < 3 ? Promise.reject(slow) : Promise.resolve(ranWell(recorded));
    };
    const device = await addIdentity(run, testDevice(), roots);
    expect(device.wwn).toBe('0x6d0946603d2e8f00');
    expect(device.unread).toBeUndefined();
  });

  test.each([
    ['in time', () => Promise.reject(slow), 'took longer than 30000 ms'],
    ['with success', () => Promise.reject(new AppError('command_failed', 'udevadm exited with 1')), 'exited with 1'],
    ['with a word', () => Promise.resolve(ranWell('')), 'has not looked at'],
    ['of this device', () => Promise.resolve(ranWell('Unknown device')), 'has not looked at'],
    // what it prints of a device from /sys alone
    ['of its own', () => Promise.resolve(ranWell('DEVPATH=/a\nDEVNAME=/dev/vda\n')), 'has not looked at /dev/vda'],
  ] as const)('leaves the disk unread when it never answers %s', async (_how, run, why) => {
    const device = await addIdentity(run, testDevice({ serial: 'of-lsblk' }), roots);
    expect(device).toMatchObject({ serial: 'of-lsblk', links: [] });
    expect(device.unread).toContain(why);
  });
});

describe('udev whose rules have named nothing', () => {
  const byPath = { by_path: '/dev/disk/by-path/pci-0000:00:1f.2-ata-1' };
  const read = (text: string) =>
    addIdentity(() => Promise.resolve(ranWell(text)), testDevice(), { sys: '/nowhere', dev: '/nowhere' });

  test.each([
    ['nothing but that it has seen it', 'DEVNAME=/dev/vda\nUSEC_INITIALIZED=1\n'],
    ['its contents', 'USEC_INITIALIZED=1\nID_FS_TYPE=ext4\nID_PART_TABLE_TYPE=gpt\n'],
  ])('and say %s: whether a name is that of the disk is not known', async (_what, text) => {
    const device = await read(text);
    expect(device).toMatchObject({ links: [], unnamed: 'no udev rule has named /dev/vda' });
    for (const entry of [byPath, { name: '/dev/disk/by-id/ata-A' }, { serial: 'A' }, { wwn: '0x5000c500a1b2c3d4' }]) {
      expect(() => readSkipList({ skip_block_devices: [entry] })(device)).toThrow(
        'is not known (no udev rule has named',
      );
    }
    expect(readSkipList({ skip_block_devices: [{ name: '/dev/sda' }, { model: 'X' }] })(device)).toBe(false);
    expect(toDiskInfo(device, null, { firmware: null, health: null })).toMatchObject({ baton_unnamed: device.unnamed });
  });

  test.each([
    ['/dev/zram0', 'disk'],
    ['/dev/fd0', 'disk'],
    ['/dev/nbd3', 'disk'],
    ['/dev/loop0', 'loop'],
  ])('%s, which they never name, is no disk that an entry may mean', async (name, type) => {
    const run: Run = () => Promise.resolve(ranWell(`DEVNAME=${name}\nUSEC_INITIALIZED=1\n`));
    const device = await addIdentity(run, testDevice({ name, type }), { sys: '/nowhere', dev: '/nowhere' });
    for (const entry of [byPath, { name: '/dev/disk/by-id/ata-A' }, { serial: 'A' }, { wwn: '0x5000c500a1b2c3d4' }]) {
      expect(readSkipList({ skip_block_devices: [entry] })(device)).toBe(false);
    }
    expect(readSkipList({ skip_block_devices: [{ name }] })(device)).toBe(true);
  });

  test.each(['DEVLINKS=/dev/disk/by-diskseq/9\n', 'ID_SERIAL_SHORT=B\n', 'MD_UUID=a\n'])(
    '%j are names',
    async (text) => {
      const device = await read(`${text}USEC_INITIALIZED=1\n`);
      expect(device.unnamed).toBeUndefined();
      expect(readSkipList({ skip_block_devices: [byPath] })(device)).toBe(false);
    },
  );
});

describe('without udev', () => {
  const roots = { sys: '', dev: '' };
  const cause = Object.assign(new Error('spawn udevadm ENOENT'), { code: 'ENOENT' });
  const noUdev: Run = () => Promise.reject(new AppError('command_failed', 'udevadm could not be started', { cause }));
  beforeEach(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'baton-sys-'));
    Object.assign(roots, { sys: join(folder, 'sys'), dev: join(folder, 'dev') });
    const device = join(roots.sys, 'devices/pci0000:00/0000:00:05.0/virtio2/block/vda');
    await mkdir(device, { recursive: true });
    await mkdir(join(roots.sys, 'class/block'), { recursive: true });
    await symlink(device, join(roots.sys, 'class/block/vda'));
    await writeFile(join(device, 'serial'), 'disk-1\n');
  });
  afterEach(() => rm(join(roots.sys, '..'), { recursive: true }));

  test("the kernel's files answer", async () => {
    const device = await addIdentity(noUdev, testDevice(), roots);
    expect(device).toMatchObject({ serial: 'disk-1', byPath: '/dev/disk/by-path/pci-0000:00:05.0', wwn: null });
    expect(device.unread).toBeUndefined();
  });

  test('links in /dev/disk/by-path go before the path made from /sys', async () => {
    await mkdir(join(roots.dev, 'disk/by-path'), { recursive: true });
    await symlink('../../vda', join(roots.dev, 'disk/by-path/pci-real'));
    expect((await addIdentity(noUdev, testDevice(), roots)).byPath).toBe('/dev/disk/by-path/pci-real');
  });

  test('an ATA port is called by its place on its own controller', async () => {
    const port = join(roots.sys, 'devices/pci0000:00/0000:03:00.0/ata7');
    const device = join(port, 'host6/target6:0:0/6:0:0:0/block/sda');
    await mkdir(device, { recursive: true });
    await symlink(device, join(roots.sys, 'class/block/sda'));
    const ata = testDevice({ name: '/dev/sda' });
    expect((await addIdentity(noUdev, ata, roots)).links).toEqual([]);
    await mkdir(join(port, 'ata_port/ata7'), { recursive: true });
    await writeFile(join(port, 'ata_port/ata7/port_no'), '1\n');
    expect((await addIdentity(noUdev, ata, roots)).links).toEqual([
      '/dev/disk/by-path/pci-0000:03:00.0-ata-1',
      '/dev/disk/by-path/pci-0000:03:00.0-ata-1.0',
    ]);
  });

  test('what lsblk said stays', async () => {
    const device = testDevice({ serial: 'lsblk', model: 'of lsblk', vendor: 'of lsblk' });
    expect(await addIdentity(noUdev, device, roots)).toMatchObject({
      serial: 'lsblk',
      model: 'of lsblk',
      vendor: 'of lsblk',
    });
  });
});
