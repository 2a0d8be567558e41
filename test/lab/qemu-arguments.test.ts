import { expect, test } from 'vitest';
import { newVariables, type QemuMachine, qemuArguments } from '#test/lab/qemu-arguments.ts';

const machine: QemuMachine = {
  name: 'node0',
  uuid: '6f6e7c1e-5d3c-4d76-8f6a-0d7c3b4c0a01',
  firmware: 'uefi',
  accelerator: 'tcg',
  memoryMib: 2048,
  cpus: 2,
  disks: [
    { path: '/lab/a.raw', bus: 'nvme', serial: 'A' },
    { path: '/lab/b.raw', bus: 'sata', serial: 'B' },
  ],
  mac: '52:54:00:aa:00:01',
  httpOnly: false,
  tap: 'node0',
  variables: '/lab/variables.fd',
  serialLog: '/lab/serial.log',
  qmpSocket: '/run/lab/node0.qmp',
};

test('the boot order becomes boot indexes', () => {
  const pxe = qemuArguments(machine, ['pxe', 'disk']);
  expect(pxe).toContain('virtio-net-pci,netdev=net0,mac=52:54:00:aa:00:01,host_mtu=9000,bootindex=0');
  expect(pxe).toContain('nvme,serial=A,drive=disk0,bootindex=10');
  expect(pxe).toContain('ide-hd,bus=ahci0.1,serial=B,drive=disk1,bootindex=11');
  const disk = qemuArguments(machine, ['disk', 'pxe']);
  expect(disk).toContain('nvme,serial=A,drive=disk0,bootindex=0');
  expect(disk).toContain('virtio-net-pci,netdev=net0,mac=52:54:00:aa:00:01,host_mtu=9000,bootindex=10');
});

test('only UEFI gets variables, only sata disks an AHCI controller', () => {
  const bios = qemuArguments({ ...machine, firmware: 'bios', disks: machine.disks.slice(0, 1) }, ['disk', 'pxe']);
  expect(bios.join(' ')).not.toContain('pflash');
  expect(bios.join(' ')).not.toContain('ahci');
  expect(qemuArguments(machine, ['disk']).join(' ')).toContain('unit=1,format=raw,file=/lab/variables.fd');
});

test('a machine of HTTP boot alone has no PXE, and no driver from its card', () => {
  const line = qemuArguments({ ...machine, httpOnly: true }, ['pxe', 'disk']).join(' ');
  expect(line).toContain('bootindex=0,romfile=');
  expect(line).toContain('opt/org.tianocore/IPv4PXESupport,string=n');
  expect(qemuArguments(machine, ['pxe', 'disk']).join(' ')).not.toContain('PXESupport');
});

test('only a machine with a TPM has one', () => {
  const line = qemuArguments({ ...machine, tpm: { state: '/lab/tpm', socket: '/run/lab/node0.tpm' } }, ['disk']).join(
    ' ',
  );
  expect(line).toContain('-chardev socket,id=tpm0,path=/run/lab/node0.tpm -tpmdev emulator,id=tpm0,chardev=tpm0');
  expect(line).toContain('-device tpm-tis,tpmdev=tpm0');
  expect(qemuArguments(machine, ['pxe', 'disk']).join(' ')).not.toContain('tpm');
});

test.each(['microsoft', 'own'] as const)(
  "Secure Boot by %s keys keeps the variables from the machine's system",
  (keys) => {
    const line = qemuArguments({ ...machine, secureBoot: keys }, ['disk']).join(' ');
    expect(line).toContain('q35,graphics=off,smm=on');
    expect(line).toContain('driver=cfi.pflash01,property=secure,value=on');
    expect(line).toContain('OVMF_CODE_4M.secboot.fd');
    expect(newVariables(keys)).not.toBe(newVariables(undefined));
    expect(qemuArguments(machine, ['disk']).join(' ')).not.toMatch(/secure|smm/);
  },
);
