import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BareMachine, bootBareMachine } from '#test/support/bare-machine.ts';

/**
 * The ramdisk erases a machine that a tenant has left: an NVMe disk, two SATA disks in a running RAID array, and a disk
 * that must be kept. QEMU starts the kernel itself and hands the agent's port out, so that the agent's own API drives
 * it; afterwards the host looks at the disks' files.
 */

const mib = 1024 * 1024;
const secret = 'the tenant before kept this here';
const disks = [
  { name: 'nvme', bytes: 192 * mib, device: 'nvme,serial=NVME-1' },
  { name: 'sata0', bytes: 128 * mib, device: 'ide-hd,bus=ahci0.0,serial=SATA-0' },
  { name: 'sata1', bytes: 128 * mib, device: 'ide-hd,bus=ahci0.1,serial=SATA-1' },
  { name: 'kept', bytes: 64 * mib, device: 'virtio-blk-pci,serial=KEEP' },
];
const raid = {
  logical_disks: [
    {
      raid_level: '1',
      size_gb: 'MAX',
      controller: 'software',
      physical_disks: [{ serial: 'SATA-0' }, { serial: 'SATA-1' }],
    },
  ],
};

let folder = '';
let machine: BareMachine;
const file = (name: string): string => join(folder, `${name}.raw`);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-vm-erase-'));
  for (const { name, bytes } of disks) await fillDisk(file(name), bytes);
  machine = await bootBareMachine(
    folder,
    disks.map(({ name, device }) => ({ name, device, file: file(name) })),
    { properties: { skip_block_devices: [{ serial: 'KEEP' }] }, target_raid_config: raid },
  );
});
afterAll(async () => {
  await machine.kill();
  await rm(folder, { recursive: true, force: true });
});

/** The secret in the first MiB, in the middle and at the end, each time at another place in its block. */
async function fillDisk(path: string, bytes: number): Promise<void> {
  const handle = await open(path, 'w');
  await handle.truncate(bytes);
  for (const at of [64 * 1024 + 17, bytes / 2 + 99, bytes - 2 * mib, bytes - secret.length - 600]) {
    await handle.write(Buffer.from(secret), 0, secret.length, at);
  }
  await handle.close();
}

test('the machine is burnt in, and what is in its memory of crashes goes', async () => {
  const settings = { agent_burnin_cpu_timeout: 2, agent_burnin_vm_timeout: 1, 'agent_burnin_vm_vm-bytes': '64M' };
  const burnIn = (step: string) => machine.clean(step, { driverInfo: settings });
  expect(await burnIn('burnin_cpu')).toMatchObject({ seconds: 2, threads: 2 });
  expect(await burnIn('burnin_memory')).toMatchObject({ megabytes: 64 });
  expect(await machine.clean('erase_pstore')).toEqual({ removed: [] });
  expect(await machine.clean('clean_uefi_nvram')).toMatchObject({
    removed: [],
    reason: 'the machine was not booted by UEFI',
  });
});

test('nothing is left to read on its disks but on the one that was to be kept', async () => {
  expect(await machine.clean('create_configuration', { interface: 'raid' })).toMatchObject({
    logical_disks: [{ raid_level: '1' }],
  });
  const { erased, skipped } = await machine.clean('erase_devices');
  const proof = { canaries: 64, reads: 'zeros' };
  // which of two disks is sda is the kernel's whim
  const bySerial = (erased as { serial: string }[]).toSorted((a, b) => (a.serial < b.serial ? -1 : 1));
  expect(bySerial).toMatchObject([
    { device: '/dev/nvme0n1', serial: 'NVME-1', method: 'nvme format, secure erase 1', bytes: 192 * mib, proof },
    { serial: 'SATA-0', method: 'discard', bytes: 128 * mib, proof },
    { serial: 'SATA-1', method: 'discard', bytes: 128 * mib, proof },
  ]);
  expect(skipped).toMatchObject([{ device: '/dev/vda', serial: 'KEEP', reason: 'it is on the skip list' }]);
  for (const name of ['nvme', 'sata0', 'sata1']) {
    const bytes = await readFile(file(name));
    expect(bytes.includes(secret)).toBe(false);
    expect(bytes.equals(Buffer.alloc(bytes.length)), `${name} reads as zeros`).toBe(true);
  }
  expect((await readFile(file('kept'))).includes(secret)).toBe(true);
});

test('an NVMe namespace that is attached nowhere is not overlooked', async () => {
  const namespaces = ['seen', 'unseen'];
  for (const name of namespaces) await fillDisk(file(name), 32 * mib);
  const hidden = await bootBareMachine(
    folder,
    namespaces.map((name, index) => ({
      name,
      file: file(name),
      device: `nvme-ns,bus=nvme-a,nsid=${index + 1}${name === 'unseen' ? ',detached=on' : ''}`,
    })),
    {},
    ['nvme-subsys,id=subsystem-a,nqn=a', 'nvme,id=nvme-a,serial=NVME-A,subsys=subsystem-a'],
  );
  try {
    await expect(hidden.clean('erase_devices')).rejects.toThrow(
      '/dev/nvme0-nsid2 (serial NVME-A) is an NVMe namespace with no device in this machine',
    );
    expect((await readFile(file('seen'))).includes(secret)).toBe(true);
    const only = { disks: [{ name: '/dev/nvme0n1', serial: 'NVME-A' }] };
    expect(await hidden.clean('erase_devices', { args: { only } })).toMatchObject({
      erased: [{ device: '/dev/nvme0n1', method: 'nvme format, secure erase 1' }],
      skipped: [{ device: '/dev/nvme0-nsid2', serial: 'NVME-A' }],
    });
  } finally {
    await hidden.kill();
  }
  expect((await readFile(file('seen'))).includes(secret)).toBe(false);
  expect((await readFile(file('unseen'))).includes(secret)).toBe(true);
});
