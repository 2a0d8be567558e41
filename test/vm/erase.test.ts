import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Agent, fetch } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FakeConductor, fakeNodeUuid, fakeToken, startFakeConductor } from '#agent/testing/fake-conductor.ts';
import { type RunningProcess, start } from '#shared/process/run.ts';
import { tcgCpu } from '#test/lab/qemu-arguments.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { freePort } from '#test/support/free-port.ts';

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
let conductor: FakeConductor;
let qemu: RunningProcess;
let agentPort = 0;
const file = (name: string): string => join(folder, `${name}.raw`);
const insecure = new Agent({ connect: { rejectUnauthorized: false } });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-vm-erase-'));
  for (const { name, bytes } of disks) await fillDisk(file(name), bytes);
  conductor = await startFakeConductor();
  agentPort = await freePort();
  const kernel = resolve('build/ramdisk/vmlinuz');
  if (!existsSync(kernel)) throw new Error(`there is no ramdisk at ${kernel}: run npm run set-up first`);
  qemu = start('qemu-system-x86_64', qemuArguments(kernel));
  qemu.stdout.resume();
  let errors = '';
  qemu.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const looked = conductor.requests(/^\/v1\/heartbeat\//, 1).then(() => 'up');
  const ended = qemu.exited.then((code) => `QEMU ended with ${code}: ${errors}`);
  const silent = waitUntil('the agent', () => undefined, { timeoutMs: 300_000 }).catch(() => lastLines());
  const outcome = await Promise.race([looked, ended, silent]);
  if (outcome !== 'up') throw new Error(`the agent did not come up: ${outcome}`);
});
afterAll(async () => {
  qemu.kill('SIGKILL');
  await qemu.exited;
  await conductor.close();
  await insecure.close();
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

function qemuArguments(kernel: string): string[] {
  const { port } = new URL(conductor.url);
  const parameters = `console=ttyS0,115200 BOOTIF=01-52-54-00-12-34-56 ipa-api-url=http://10.0.2.2:${port}`;
  return [
    ['-machine', 'q35', '-accel', 'tcg,thread=multi', '-cpu', tcgCpu, '-smp', '2', '-m', '1024'],
    ['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    ['-serial', `file:${join(folder, 'serial.log')}`],
    ['-kernel', kernel, '-initrd', resolve('build/ramdisk/initrd.img'), '-append', parameters],
    ['-netdev', `user,id=net0,hostfwd=tcp:127.0.0.1:${agentPort}-:9999`],
    ['-device', 'virtio-net-pci,netdev=net0,mac=52:54:00:12:34:56', '-device', 'ich9-ahci,id=ahci0'],
    ...disks.map(({ name, device }) => [
      '-drive',
      `if=none,id=${name},format=raw,cache=unsafe,discard=unmap,file=${file(name)}`,
      '-device',
      `${device},drive=${name}`,
    ]),
  ].flat();
}

function lastLines(): string {
  return readFileSync(join(folder, 'serial.log'), 'latin1').slice(-4000);
}

/** Runs a clean step to its end. */
async function clean(step: string, onInterface = 'deploy', driverInfo: object = {}): Promise<Record<string, unknown>> {
  const node = {
    uuid: fakeNodeUuid,
    properties: { skip_block_devices: [{ serial: 'KEEP' }] },
    instance_info: {},
    driver_info: driverInfo,
    driver_internal_info: {},
    target_raid_config: raid,
  };
  const body = {
    name: 'clean.execute_clean_step',
    params: { step: { step, interface: onInterface }, node, ports: [] },
  };
  const answer = await fetch(`https://127.0.0.1:${agentPort}/v1/commands/?wait=true&agent_token=${fakeToken}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    dispatcher: insecure,
    signal: AbortSignal.timeout(280_000),
  });
  const result = (await answer.json()) as Record<string, unknown>;
  if (result['command_status'] !== 'SUCCEEDED') throw new Error(`${step}: ${JSON.stringify(result)}\n${lastLines()}`);
  return (result['command_result'] as { clean_result: Record<string, unknown> }).clean_result;
}

test('the machine is burnt in, and what is in its memory of crashes goes', async () => {
  const settings = { agent_burnin_cpu_timeout: 2, agent_burnin_vm_timeout: 1, 'agent_burnin_vm_vm-bytes': '64M' };
  expect(await clean('burnin_cpu', 'deploy', settings)).toMatchObject({ seconds: 2, threads: 2 });
  expect(await clean('burnin_memory', 'deploy', settings)).toMatchObject({ megabytes: 64 });
  expect(await clean('erase_pstore')).toEqual({ removed: [] });
  expect(await clean('clean_uefi_nvram')).toMatchObject({ removed: [], reason: 'the machine was not booted by UEFI' });
});

test('nothing is left to read on its disks but on the one that was to be kept', async () => {
  expect(await clean('create_configuration', 'raid')).toMatchObject({ logical_disks: [{ raid_level: '1' }] });
  const { erased, skipped } = await clean('erase_devices');
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
