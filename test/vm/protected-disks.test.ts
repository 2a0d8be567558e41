import { createHash } from 'node:crypto';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { serveImage } from '#agent/image/testing/image-server.ts';
import { makeHead } from '#agent/image/testing/make-table.ts';
import { type BareMachine, bootBareMachine } from '#test/support/bare-machine.ts';

/**
 * A machine with a disk of each transport, which real udev gives several names each: one that is protected by any of
 * them is neither erased nor chosen. The names that udev prints come in another order each time.
 */

const mib = 1024 * 1024;
const bytes = 64 * mib;
/** At the beginning of each disk, where an erase of metadata writes. */
const mark = 'precious';
const byPath = (name: string) => ({ by_path: `/dev/disk/by-path/${name}` });
const byId = (name: string) => ({ name: `/dev/disk/by-id/${name}` });

const controllers = [
  'ich9-ahci,id=ahci1,addr=0x10',
  'virtio-scsi-pci,id=scsi0,addr=0x11',
  // QEMU has this controller's driver in Linux, and the card is an eMMC's like
  'sdhci-pci,id=sdhci0,addr=0x14',
  // an adapter from before x86-64, whose driver the ramdisk lacks
  'am53c974,id=esp0,addr=0x15',
];
/** A disk that nobody in the ramdisk can see. */
const hidden = { name: 'hidden', device: 'scsi-hd,bus=esp0.0,serial=HIDDEN' };
const undriven = expect.stringMatching(
  /0000:00:15\.0 .*1022:2020\) has no driver in this ramdisk: disks behind it are/,
);
const disks = [
  {
    name: 'ata',
    device: 'ide-hd,bus=ahci1.0,serial=ATA-1,wwn=0x5000c500a1b20001',
    names: [
      byPath('pci-0000:00:10.0-ata-1'),
      byPath('pci-0000:00:10.0-ata-1.0'),
      { serial: 'ATA-1' },
      { wwn: '0x5000c500a1b20001' },
      { wwn: 'naa.5000C500A1B20001' },
      byId('wwn-0x5000c500a1b20001'),
    ],
  },
  {
    name: 'scsi',
    device: 'scsi-hd,bus=scsi0.0,serial=KJGATM4R,wwn=0x5000c500a1b20002',
    names: [
      { serial: 'KJGATM4R' },
      { serial: '5000c500a1b20002' },
      byPath('pci-0000:00:11.0-scsi-0:0:0:0'),
      { wwn: '5000c500a1b20002' },
      { hctl: '<in> :0:0:0', serial: '<in> KJGATM' },
      byId('scsi-35000c500a1b20002'),
    ],
  },
  {
    name: 'virtio',
    device: 'virtio-blk-pci,serial=VIRTIO-1,addr=0x12',
    names: [
      byPath('pci-0000:00:12.0'),
      byPath('virtio-pci-0000:00:12.0'),
      { serial: 'VIRTIO-1' },
      byId('virtio-VIRTIO-1'),
      { name: '/dev/vda' },
      byPath('virtio-pci-0000:00:12.0'),
    ],
  },
  {
    name: 'nvme',
    device: 'nvme,serial=NVME-1,addr=0x13',
    names: [
      { serial: 'NVME-1' },
      byPath('pci-0000:00:13.0-nvme-1'),
      byId('nvme-QEMU_NVMe_Ctrl_NVME-1'),
      { name: '/dev/nvme0n1' },
      { serial: '<or> A <or> NVME-1' },
      { tran: 'nvme' },
    ],
  },
  {
    name: 'card',
    device: 'sd-card',
    // udev gives a card on PCI no by-path name
    names: [
      { serial: '0xdeadbeef' },
      { name: '/dev/mmcblk0' },
      { name: '<in> /dev/disk/by-id/mmc-' },
      { serial: '0xdeadbeef' },
      { name: '<in> mmcblk' },
      { serial: '<or> A <or> 0xDEADBEEF' },
    ],
  },
];
const rounds = [0, 1, 2, 3, 4, 5];

let folder = '';
let machine: BareMachine;
const file = (name: string): string => join(folder, `${name}.raw`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-vm-protected-'));
  for (const { name } of [...disks, hidden]) await writeFile(file(name), Buffer.alloc(bytes));
  machine = await bootBareMachine(
    folder,
    [...disks, hidden].map(({ name, device }) => ({ name, device, file: file(name) })),
    {},
    controllers,
  );
});
afterAll(async () => {
  await machine.kill();
  await rm(folder, { recursive: true, force: true });
});

async function markDisk(name: string): Promise<void> {
  await using handle = await open(file(name), 'r+');
  await handle.write(Buffer.from(mark), 0, mark.length, 4096);
}

async function isMarked(name: string): Promise<boolean> {
  return (await readFile(file(name))).includes(mark);
}

test.each(rounds)('name %i of each disk protects it, and the one without an entry is erased', async (round) => {
  const erasedDisk = disks[round % disks.length] as (typeof disks)[number];
  for (const { name } of disks) await markDisk(name);
  const kept = disks.filter((disk) => disk !== erasedDisk);
  const skipped = kept.map(({ names }) => names[round]);
  const result = await machine.clean('erase_devices_metadata', { properties: { skip_block_devices: skipped } });
  expect(result).toMatchObject({ erased: [expect.stringMatching(/^\/dev\//)], warnings: [undriven] });
  const protection = result['protection'] as { readonly devices: readonly string[] }[];
  expect(protection.map(({ devices }) => devices.length)).toEqual([1, 1, 1, 1]);
  expect(new Set(protection.flatMap(({ devices }) => devices)).size).toBe(4);
  const marked = await Promise.all(disks.map(async ({ name }) => ((await isMarked(name)) ? [name] : [])));
  expect(marked.flat()).toEqual(kept.map(({ name }) => name));
});

test.each(disks)('$name: nor is it chosen, though the hint names it too', async ({ names }) => {
  for (const [index, name] of names.slice(0, 3).entries()) {
    const properties = { skip_block_devices: [names[index + 1]], root_device: name };
    const files = [{ path: '/etc/motd', content: '' }];
    await expect(machine.clean('inject_files', { kind: 'deploy', properties, args: { files } })).rejects.toThrow(
      /no disk can be the root device .*it is on the skip list/,
    );
  }
});

test('an entry that names nothing is a warning, and the disk is found by the same names as root device', async () => {
  const properties = { skip_block_devices: [byPath('pci-0000:00:10.0-ata-7')] };
  const { warnings } = await machine.clean('erase_devices_metadata', { properties });
  expect(warnings).toEqual([
    expect.stringContaining('names no disk of this machine: nothing is protected by it'),
    undriven,
  ]);
});

test('a storage controller without a driver is named by the inventory, as in the result of each erase', async () => {
  const { baton_undriven_storage: named, disks: listed } = await machine.inventory();
  expect(named).toEqual([undriven]);
  expect(listed).toHaveLength(disks.length);
});

test('an image whose table ends behind the disk is refused, and the disk keeps its content', async () => {
  const partitions = [
    { number: 1, start: 2048, size: 40_960, type: 'ef' },
    { number: 2, start: 43_008, size: 90_112, type: '83' },
  ];
  const image = makeHead({ label: 'dos', sectorBytes: 512, sectors: 133_120, partitions });
  await using server = await serveImage(image);
  const checksum = createHash('sha256').update(image).digest('hex');
  // QEMU's address of this host
  const urls = [server.url.replace('127.0.0.1', '10.0.2.2')];
  await markDisk('virtio');
  const written = machine.clean('write_image', {
    kind: 'deploy',
    properties: { root_device: { serial: 'VIRTIO-1' } },
    args: { image_info: { id: 'disk.raw', urls, os_hash_algo: 'sha256', os_hash_value: checksum, disk_format: 'raw' } },
  });
  await expect(written).rejects.toThrow(
    /partition 2 of the image ends at byte 68157440, behind the end of disk \/dev\/vda \(67108864 bytes\)/,
  );
  expect(await isMarked('virtio')).toBe(true);
});
