import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type InventoryOptions, type KernelRoots, readInventory } from '#agent/hardware/inventory.ts';
import { listPhysicalInterfaces } from '#agent/machine/network-interfaces.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import type { Run } from '#shared/process/run.ts';
import type { LldpTlv } from '#shared/wire/inventory.ts';

/** A machine as the kernel shows it: two NICs, a bridge, loopback. */
const files: Readonly<Record<string, string>> = {
  'proc/cpuinfo': [0, 1]
    .map(
      (index) =>
        `processor\t: ${index}\nmodel name\t: Test CPU @ 2GHz\ncpu MHz\t\t: 1999.5\nphysical id\t: 0\nflags\t\t: fpu vme\n`,
    )
    .join('\n'),
  'proc/meminfo': 'MemTotal:        1000000 kB\nMemFree: 1 kB\n',
  'sys/devices/system/cpu/cpu0/topology/physical_package_id': '0\n',
  'sys/devices/system/cpu/cpu1/topology/physical_package_id': '0\n',
  'sys/devices/system/memory/block_size_bytes': '8000000\n',
  'sys/devices/system/memory/memory0/state': 'online',
  'sys/devices/system/memory/memory1/state': 'online',
  'sys/devices/pci/0000:00:05.0/vendor': '0x1af4\n',
  'sys/devices/pci/0000:00:05.0/device': '0x1000\n',
  'sys/devices/pci/0000:00:05.0/index': '2\n',
  'sys/class/net/enp0s5/address': '52:54:00:AA:00:01\n',
  'sys/class/net/enp0s5/carrier': '1\n',
  'sys/class/net/enp0s5/speed': '10000\n',
  // a member of a bond, which has the other card's address
  'sys/class/net/enp0s6/address': '52:54:00:aa:00:01\n',
  'sys/class/net/enp0s6/bonding_slave/perm_hwaddr': '52:54:00:aa:00:02\n',
  'sys/class/net/enp0s6/speed': '-1\n',
  'sys/class/net/enp0s6/device/vendor': '0x8086\n',
  'sys/class/net/br0/address': '52:54:00:aa:00:09\n',
  'sys/class/net/lo/address': '00:00:00:00:00:00\n',
  'sys/class/dmi/id/sys_vendor': 'ACME\n',
  'sys/class/dmi/id/product_name': 'Rack One\n',
  'sys/class/dmi/id/product_serial': 'S1\n',
  'sys/class/dmi/id/product_uuid': '4c4c4544-0051-3510-8052-b4c04f4a4d31\n',
  'sys/class/dmi/id/bios_vendor': 'EFI Inc\n',
  'sys/class/dmi/id/bios_version': '1.2\n',
  'sys/class/dmi/id/bios_date': '01/02/2026\n',
  'sys/firmware/efi/fw_platform_size': '64\n',
};

const vda1 = { name: 'vda1', path: '/dev/vda1', type: 'part', size: 1_048_576 };
const vda2 = {
  name: 'vda2',
  path: '/dev/vda2',
  type: 'part',
  size: 2_097_152,
  children: [{ name: 'md0', path: '/dev/md0', type: 'raid1', size: 2_000_000 }],
};
const lsblk = {
  blockdevices: [
    {
      name: 'vda',
      path: '/dev/vda',
      type: 'disk',
      size: 10_737_418_240,
      rota: false,
      'log-sec': 512,
      'phy-sec': 4096,
      children: [vda1, vda2],
    },
    { name: 'sr0', path: '/dev/sr0', type: 'rom', size: 1_000_000, rm: true },
  ],
};

const nothingKnown = { manufacturer: null, version: null, serial_number: null };
/** Never this machine's own. */
const readBoards: NonNullable<InventoryOptions['readBoards']> = () =>
  Promise.resolve({
    board: { ...nothingKnown, model: 'B1' },
    chassis: { ...nothingKnown, type: 'Blade', asset_tag: null },
    slots: 2,
    modules: [],
  });

/** Programs by command, or by command and last argument. */
function machineRun(programs: Readonly<Record<string, string>>): Run {
  return (command, args) => {
    const stdout = programs[`${command} ${args.at(-1)}`] ?? programs[command];
    return stdout === undefined
      ? Promise.reject(
          new AppError('command_failed', `${command} could not be started`, {
            cause: Object.assign(new Error('ENOENT'), { code: 'ENOENT' }),
          }),
        )
      : Promise.resolve(ranWell(stdout));
  };
}

describe('readInventory', () => {
  let root: string;
  let roots: KernelRoots;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), 'baton-inventory-'));
    roots = { sys: join(root, 'sys'), proc: join(root, 'proc') };
    for (const [name, content] of Object.entries(files)) {
      await mkdir(dirname(join(root, name)), { recursive: true });
      await writeFile(join(root, name), content);
    }
    await symlink('../../../devices/pci/0000:00:05.0', join(root, 'sys/class/net/enp0s5/device'));
    await symlink('../../../bus/pci/drivers/virtio_net', join(root, 'sys/devices/pci/0000:00:05.0/driver'));
  });
  afterEach(() => rm(root, { recursive: true }));

  test('tells the machine in the shape of Ironic', async () => {
    const run = machineRun({
      lsblk: JSON.stringify(lsblk),
      'blkid /dev/vda': 'PTUUID=1\nPTTYPE=gpt\n',
      'blkid /dev/vda1': 'LABEL=EFI\\ ONE\nTYPE=vfat\nPART_ENTRY_NAME=esp\n',
      'blkid /dev/vda2': 'TYPE=linux_raid_member\nPART_ENTRY_NAME=data\n',
      'lsblk /dev/md0': JSON.stringify({ blockdevices: vda2.children }),
      'blkid /dev/md0': '',
      'ethtool enp0s5': 'driver: virtio_net\nfirmware-version: 1.2.3\n',
      'ethtool enp0s6': 'driver: e1000\nfirmware-version: N/A\n',
      'mdadm /dev/vda': '',
      'mdadm /dev/vda1': '',
      'mdadm /dev/md0': '',
      'mdadm /dev/vda2': 'MD_LEVEL=raid1\nMD_NAME=any:data\nMD_UUID=1:2:3:4\n',
      'smartctl /dev/vda': '{"firmware_version": "F1", "smart_status": {"passed": false}}',
      lspci: 'Slot:\t0000:17:00.0\nClass:\t3D controller [0302]\nVendor:\tNVIDIA Corporation [10de]\n',
      ipmitool:
        'IP Address Source       : DHCP Address\nIP Address              : 192.0.2.100\nMAC Address             : aa:bb:cc:00:00:01\n',
    });
    const lldp = Promise.resolve(new Map([['enp0s5', [[5, '737731'] satisfies LldpTlv]]]));
    const inventory = await readInventory({
      readBoards,
      run,
      log: silentLog,
      bootMac: '52:54:00:aa:00:01',
      lldp,
      roots,
    });
    expect(inventory).toMatchObject({
      cpu: {
        model_name: 'Test CPU @ 2GHz',
        frequency: '1999.5',
        count: 2,
        flags: ['fpu', 'vme'],
        socket_count: 1,
      },
      memory: { total: 1_024_000_000, physical_mb: 256, baton_slots: 2, baton_modules: [] },
      baton_pci_devices: [{ address: '0000:17:00.0' }],
      baton_accelerators: [{ vendor: 'NVIDIA Corporation' }],
      bmc_address: '192.0.2.100',
      bmc_v6address: null,
      bmc_mac: 'aa:bb:cc:00:00:01',
      system_vendor: {
        product_name: 'Rack One',
        serial_number: 'S1',
        baton_system_uuid: '4c4c4544-0051-3510-8052-b4c04f4a4d31',
        manufacturer: 'ACME',
        firmware: { vendor: 'EFI Inc', version: '1.2', build_date: '01/02/2026' },
        baton_board: { model: 'B1' },
        baton_chassis: { type: 'Blade' },
      },
      boot: { current_boot_mode: 'uefi', pxe_interface: '52:54:00:aa:00:01' },
    });
    expect(inventory.interfaces).toEqual([
      {
        name: 'enp0s5',
        mac_address: '52:54:00:aa:00:01',
        ipv4_address: null,
        ipv6_address: null,
        has_carrier: true,
        lldp: [[5, '737731']],
        vendor: '0x1af4',
        product: '0x1000',
        client_id: null,
        biosdevname: 'em2',
        speed_mbps: 10_000,
        pci_address: '0000:00:05.0',
        driver: 'virtio_net',
        baton_firmware: '1.2.3',
      },
      expect.objectContaining({
        name: 'enp0s6',
        has_carrier: false,
        speed_mbps: null,
        lldp: null,
        driver: null,
        baton_firmware: null,
      }) as unknown,
    ]);
    expect(inventory.disks).toMatchObject([
      {
        name: '/dev/md0',
        baton_contents: [],
        baton_resting_arrays: [],
        baton_health: null,
      },
      {
        name: '/dev/vda',
        size: 10_737_418_240,
        rotational: false,
        logical_sectors: 512,
        physical_sectors: 4096,
        baton_removable: false,
        baton_firmware: 'F1',
        baton_health: { passed: false },
        baton_resting_arrays: [
          {
            uuids: ['1:2:3:4', '1234'],
            names: ['/dev/disk/by-id/md-uuid-1:2:3:4', '/dev/disk/by-id/md-name-any:data', '/dev/md/data'],
          },
        ],
        baton_contents: [
          { name: '/dev/vda', size: 10_737_418_240, type: 'gpt', label: null },
          { name: '/dev/vda1', size: 1_048_576, type: 'vfat', label: 'EFI ONE' },
          { name: '/dev/vda2', size: 2_097_152, type: 'linux_raid_member', label: 'data' },
          { name: '/dev/md0', size: 2_000_000, type: 'raid1', label: null },
        ],
      },
    ]);
  });

  test('a machine without IPMI, memory blocks, EFI and a known boot NIC', async () => {
    await rm(join(root, 'sys/devices/system'), { recursive: true });
    await rm(join(root, 'sys/firmware'), { recursive: true });
    const run = machineRun({ lsblk: '{"blockdevices":[]}' });
    const inventory = await readInventory({ readBoards, run, log: silentLog, bootMac: '52:54:00:00:00:77', roots });
    expect(inventory).toMatchObject({
      disks: [],
      bmc_address: null,
      bmc_mac: null,
      memory: { total: 1_024_000_000, physical_mb: 977 },
      boot: { current_boot_mode: 'bios', pxe_interface: '52:54:00:00:00:77' },
    });
  });

  test('a disk that can’t be read is listed, its contents unknown', async () => {
    const run = machineRun({ lsblk: JSON.stringify(lsblk) });
    const inventory = await readInventory({ readBoards, run, log: silentLog, roots });
    expect(inventory.disks.map(({ baton_contents: contents }) => contents)).toContain(null);
  });

  test('physical interfaces are those with a device', async () => {
    expect((await listPhysicalInterfaces(roots.sys)).map(({ name }) => name)).toEqual(['enp0s5', 'enp0s6']);
  });
});
