import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { addIdentity, byPathFromSysPath, parseUdevProperties } from '#agent/storage/device-identity.ts';
import { testDevice } from '#agent/storage/testing/test-device.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Run } from '#shared/process/run.ts';

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

test("udev's properties", () => {
  expect(parseUdevProperties(recorded)).toEqual({
    model: 'PERC_H730_Mini',
    vendor: 'DELL',
    serial: '6d0946603d2e8f00229ff5b80a4b8d5c',
    wwn: '0x6d0946603d2e8f00',
    wwnWithExtension: '0x6d0946603d2e8f00229ff5b80a4b8d5c',
    wwnVendorExtension: '0x229ff5b80a4b8d5c',
    byPath: '/dev/disk/by-path/pci-0000:03:00.0-scsi-0:2:0:0',
  });
});

test("an array's UUID is its WWN", () => {
  const array = 'DEVNAME=/dev/md127\nMD_LEVEL=raid1\nMD_UUID=3aaa0122:29827cfa:5331ad66:ca767371\nMD_NAME=any:md0\n';
  expect(parseUdevProperties(array).wwn).toBe('3aaa0122:29827cfa:5331ad66:ca767371');
});

test.each([
  ['/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda', 'pci-0000:00:02.0'],
  ['/sys/devices/pci0000:00/0000:00:01.2/0000:02:00.0/nvme/nvme0/nvme0n1', 'pci-0000:02:00.0-nvme-1'],
  ['/sys/devices/pci0000:00/0000:00:1f.2/ata3/host2/target2:0:0/2:0:0:0/block/sda', 'pci-0000:00:1f.2-ata-3'],
  [
    '/sys/devices/pci0000:00/0000:00:02.2/0000:03:00.0/host0/target0:2:0/0:2:0:0/block/sda',
    'pci-0000:03:00.0-scsi-0:2:0:0',
  ],
])('by-path of %s', (sysPath, name) => {
  expect(byPathFromSysPath(sysPath)).toBe(`/dev/disk/by-path/${name}`);
});

test('no by-path for what is not on PCI', () => {
  expect(byPathFromSysPath('/sys/devices/virtual/block/loop0')).toBeNull();
});

describe('without udev', () => {
  const roots = { sys: '', dev: '' };
  const noUdev: Run = () => Promise.reject(new AppError('command_failed', 'udevadm could not be started'));
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
  });

  test('links in /dev/disk/by-path go before the path made from /sys', async () => {
    await mkdir(join(roots.dev, 'disk/by-path'), { recursive: true });
    await symlink('../../vda', join(roots.dev, 'disk/by-path/pci-real'));
    expect((await addIdentity(noUdev, testDevice(), roots)).byPath).toBe('/dev/disk/by-path/pci-real');
  });

  test('what lsblk said stays', async () => {
    expect((await addIdentity(noUdev, testDevice({ serial: 'lsblk' }), roots)).serial).toBe('lsblk');
  });
});
