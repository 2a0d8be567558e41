import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import type { SimulatedDisk } from '#test/simulators/node/simulated-inventory.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { batonProgram } from '#test/support/programs.ts';

/** A plan describes disks, over HTTP and by the real `baton`: inventories come from inspections. */

const mac = '52:54:00:00:05:11';
const name = 'planned';
const gib = 1024 ** 3;
const small: SimulatedDisk = { name: '/dev/sdb', serial: 'small-1', size: 20 * gib };
const stick: SimulatedDisk = { name: '/dev/sdc', serial: 'stick-1', size: 8 * gib, baton_removable: true };

let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
  machine = await startMachine([small, stick]);
  await enrolSimulatedNode(operator, machine, name);
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
});

const startMachine = (moreDisks: readonly SimulatedDisk[]): Promise<SimulatedNode> =>
  startSimulatedNode({ conductorUrl: () => conductor.url, mac, moreDisks, inspects: true });

async function inspect(): Promise<void> {
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'inspect');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
}

interface Plan {
  readonly hash: string;
  readonly reboots: number;
  readonly warnings: readonly string[];
  readonly destroys: readonly { readonly serial: string | null; readonly by: readonly string[] }[];
}
const plan = async (body: object = {}): Promise<Plan> =>
  (await operator.call('POST', `/v1/nodes/${name}/plan`, body)) as unknown as Plan;
const patch = (path: string, value: unknown, op = 'add') =>
  operator.call('PATCH', `/v1/nodes/${name}`, [{ op, path, value }]);
const lost = ({ destroys }: Plan): Record<string, string> =>
  Object.fromEntries(destroys.map(({ serial, by }) => [serial, by.join(' ')]));

test('before anybody has looked, the disks are said not to be known', async () => {
  const view = await plan();
  // an example is nowhere, and its server has no such image
  expect(view.warnings).toContainEqual(expect.stringContaining('The image http://images.example/demo.raw '));
  expect(view.destroys).toEqual([]);
  expect(view.warnings).toContain(
    'The disks are not known: inspect or clean the node once to see what will be destroyed.',
  );
});

test('a cleaning that was read then is not refused when its ramdisk tells the disks; one with other disks is', async () => {
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  const body = { clean_steps: [{ interface: 'deploy', step: 'erase_devices_metadata' }] };
  // its list of steps is known, its disks are not
  await operator.provision(name, 'clean', body);
  await operator.waitForState(name, 'manageable');
  const { db } = conductor.context();
  await db.execute('delete from node_inventory');
  const unknown = await plan({ target: 'clean', ...body });
  expect(unknown.destroys).toEqual([]);
  await operator.provision(name, 'clean', { ...body, plan_hash: unknown.hash });
  await operator.waitForState(name, 'manageable');

  const known = await plan({ target: 'clean', ...body });
  expect(lost(known)).toEqual({
    [`disk-of-${mac}`]: 'deploy.erase_devices_metadata',
    'small-1': 'deploy.erase_devices_metadata',
    'stick-1': 'deploy.erase_devices_metadata',
  });
  expect(known.hash).not.toBe(unknown.hash);
  const other = await startMachine([{ ...small, serial: 'put-in-since' }]);
  try {
    await patch('/driver_info', other.driverInfo);
    await operator.provision(name, 'clean', { ...body, plan_hash: known.hash });
    const failed = await operator.waitForState(name, 'clean failed');
    expect(failed['last_error']).toContain('the plan is no longer the one that was read');
    expect(other.disk).toEqual([]);
  } finally {
    await patch('/driver_info', machine.driverInfo);
    await other.close();
    await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  }
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
});

test('after an inspection it names the root disk; hints and skip list choose another', async () => {
  await inspect();
  expect(await plan()).toMatchObject({
    complete: true,
    destroys: [
      {
        name: '/dev/sdb',
        serial: 'small-1',
        model: 'SIMULATED',
        size_bytes: 20 * gib,
        contents: [],
        by: ['deploy.write_image'],
      },
    ],
  });
  await patch('/properties/skip_block_devices', [{ serial: 'small-1' }]);
  expect((await plan()).destroys).toMatchObject([
    {
      serial: `disk-of-${mac}`,
      contents: ['/dev/sda: gpt', '/dev/sda1: ext4 "old-system"'],
    },
  ]);
  await patch('/properties/skip_block_devices', undefined, 'remove');
  await patch('/properties/root_device', { serial: 'gone' });
  const view = await plan();
  expect(view.destroys).toEqual([]);
  expect(view.warnings.join()).toMatch(
    /deploy\.write_image.*is not known: no disk can be the root device.*wanted gone/,
  );
  await patch('/properties/root_device', undefined, 'remove');
});

test('RAID and BIOS steps: members, the volume as root disk, one reset more', async () => {
  const before = await plan();
  const raid = {
    interface: 'raid',
    step: 'apply_configuration',
    priority: 90,
    args: {
      raid_config: {
        logical_disks: [
          { raid_level: '1', size_gb: 'MAX', controller: 'software', volume_name: 'root', is_root_volume: true },
        ],
      },
    },
  };
  const bios = {
    interface: 'bios',
    step: 'apply_configuration',
    priority: 150,
    args: { settings: [{ name: 'SysProfile', value: 'Performance' }] },
  };
  const view = await plan({ deploy_steps: [raid, bios] });
  expect(lost(view)).toEqual({
    [`disk-of-${mac}`]: 'raid.apply_configuration',
    'small-1': 'raid.apply_configuration',
  });
  expect(view.warnings).toContain(
    'deploy.write_image writes to the RAID volume "root" that raid.apply_configuration makes.',
  );
  expect(view.reboots).toBe(before.reboots + 1);
  const efi = { ...bios, priority: 70, args: { settings: [{ name: 'efi.boot_timeout', value: '5' }] } };
  expect((await plan({ deploy_steps: [efi] })).reboots).toBe(before.reboots);
});

test('`baton plan` prints disks with serial number, size and contents', async () => {
  await patch('/properties/root_device', { name: '/dev/sda' });
  const { stdout } = await run(batonProgram, ['plan', name], {
    env: { BATON_URL: conductor.url },
    timeoutMs: 300_000,
  });
  expect(stdout).toContain(
    `DESTROYS what is on:\n  /dev/sda  disk-of-${mac}  SIMULATED  107 GB  ` +
      '/dev/sda: gpt, /dev/sda1: ext4 "old-system"  by deploy.write_image\n',
  );
  expect(stdout).toMatch(/^! Disks as inventoried 20/m);
  await patch('/properties/root_device', undefined, 'remove');
});

test('a plan whose disk has been replaced since is refused', async () => {
  const { hash } = await plan();
  const other = await startMachine([{ ...small, serial: 'replaced' }]);
  try {
    await patch('/driver_info', other.driverInfo);
    await inspect();
    const now = await plan();
    expect(lost(now)).toEqual({ replaced: 'deploy.write_image' });
    await expect(operator.provision(name, 'active', { plan_hash: hash })).rejects.toThrow(/409.*plan_hash/);
    await operator.provision(name, 'active', { plan_hash: now.hash });
    await operator.waitForState(name, 'active');
  } finally {
    await other.close();
  }
});

test('a deploy onto disks that nobody has looked at since fails before anything is written', async () => {
  await patch('/driver_info', machine.driverInfo);
  await operator.provision(name, 'deleted');
  await operator.waitForState(name, 'available');
  await patch('/instance_info', demoInstance);
  const { hash } = await plan();
  const other = await startMachine([{ ...small, serial: 'replaced-again' }]);
  try {
    await patch('/driver_info', other.driverInfo);
    await operator.provision(name, 'active', { plan_hash: hash, configdrive: { user_data: '#cloud-config' } });
    const failed = await operator.waitForState(name, 'deploy failed');
    expect(failed['last_error']).toContain('the plan is no longer the one that was read');
    expect(other.disk).toEqual([]);
    await operator.provision(name, 'active', {
      plan_hash: (await plan()).hash,
      configdrive: { user_data: '#!/bin/sh' },
    });
    await operator.waitForState(name, 'active');
    expect(other.disk).not.toEqual([]);
  } finally {
    await other.close();
  }
});
