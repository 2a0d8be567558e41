import { expect, test } from 'vitest';
import { parseLspci, readPci } from '#agent/machine/inventory-pci.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';

/** Output of `lspci -Dvmmnnk` of Debian's pciutils. */
const lspci = `Slot:	0000:00:00.0
Class:	Host bridge [0600]
Vendor:	Intel Corporation [8086]
Device:	Device [09a2]

Slot:	0000:03:00.0
Class:	VGA compatible controller [0300]
Vendor:	ASPEED Technology, Inc. [1a03]
Device:	ASPEED Graphics Family [2000]
Rev:	52

Slot:	0000:17:00.0
Class:	3D controller [0302]
Vendor:	NVIDIA Corporation [10de]
Device:	GA100 [A100 PCIe 40GB] [20f1]
SVendor:	NVIDIA Corporation [10de]
SDevice:	Device [145f]
PhySlot:	7
Rev:	a1
NUMANode:	0

Slot:	0000:3d:00.0
Class:	Co-processor [0b40]
Vendor:	Intel Corporation [8086]
Device:	C62x Chipset QuickAssist Technology [37c8]

Slot:	10000:01:00.0
Class:	Processing accelerators [1200]
Vendor:	Habana Labs Ltd. [1da3]
Device:	Device [1020]

Slot:	0000:5e:00.0
Class:	Ethernet controller [0200]
Vendor:	Mellanox Technologies [15b3]
Device:	MT28908 Family [ConnectX-6] [101b]
Driver:	mlx5_core
Module:	mlx5_core
`;

test('storage controllers without a driver are named: nobody sees what is behind them', async () => {
  const sd = `Slot:\t0000:00:12.0
Class:\tSD Host controller [0805]
Vendor:\tIntel Corporation [8086]
Device:\tAtom SD Controller [2296]
`;
  const raid = `Slot:\t0000:02:00.0
Class:\tRAID bus controller [0104]
Vendor:\tBroadcom [1000]
Device:\tDevice [10e7]
`;
  const channel = `Slot:\t0000:04:00.0
Class:\tFibre Channel [0c04]
Vendor:\tQLogic Corp. [1077]
Device:\tISP2722-based [2261]
`;
  const driven = raid.replace('02:00', '03:00') + 'Driver:\tmegaraid_sas\n';
  const found = await readPci(() => Promise.resolve(ranWell([lspci, sd, raid, driven, channel].join('\n'))), silentLog);
  expect(found.baton_undriven_storage).toEqual([
    'SD Host controller 0000:00:12.0 (Intel Corporation Atom SD Controller, 8086:2296) has no driver in this ramdisk: ' +
      'disks behind it are neither seen nor erased',
    'RAID bus controller 0000:02:00.0 (Broadcom, 1000:10e7) has no driver in this ramdisk: ' +
      'disks behind it are neither seen nor erased',
    'Fibre Channel 0000:04:00.0 (QLogic Corp. ISP2722-based, 1077:2261) has no driver in this ramdisk: ' +
      'disks behind it are neither seen nor erased',
  ]);
  const failed = await readPci(() => Promise.reject(new AppError('command_failed', 'no lspci')), silentLog);
  expect(failed.baton_undriven_storage).toBeNull();
});

test('cards with their names; GPUs and other accelerators are told from a BMC’s display', async () => {
  const found = await readPci(() => Promise.resolve(ranWell(lspci)), silentLog);
  expect(found.baton_pci_devices?.map(({ address }) => address)).toEqual([
    '0000:03:00.0',
    '0000:17:00.0',
    '0000:3d:00.0',
    '10000:01:00.0',
    '0000:5e:00.0',
  ]);
  expect(found.baton_accelerators?.map(({ product }) => product)).toEqual([
    'GA100 [A100 PCIe 40GB]',
    'C62x Chipset QuickAssist Technology',
    null,
  ]);
  expect(found.baton_accelerators?.[0]).toEqual({
    address: '0000:17:00.0',
    class_id: '0302',
    class: '3D controller',
    vendor_id: '10de',
    vendor: 'NVIDIA Corporation',
    product_id: '20f1',
    product: 'GA100 [A100 PCIe 40GB]',
    subsystem_vendor: 'NVIDIA Corporation',
    subsystem: null,
    revision: 'a1',
    driver: null,
    slot: '7',
  });
});

test('a machine without that bus, or without lspci', async () => {
  expect(parseLspci('')).toEqual([]);
  const run = () => Promise.reject(new AppError('command_failed', 'lspci could not be started'));
  expect(await readPci(run, silentLog)).toEqual({
    baton_pci_devices: null,
    baton_accelerators: null,
    baton_undriven_storage: null,
  });
});
