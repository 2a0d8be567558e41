import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { demoInstance, enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/**
 * Disks that a wipe preserves stay off the next deploy, on a machine whose data disk is the smaller one: without hints
 * it would be the root device, for in the ramdisk it looks as free as the other.
 */

const name = 'keeper';
const mac = '52:54:00:00:06:01';
const osSerial = `disk-of-${mac}`;
let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
/** Disks as each boot finds them, beside the operating system's. */
const disks = [{ name: '/dev/sdb', serial: 'DATA', size: 50 * 1024 ** 3 }];

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac,
    moreDisks: disks,
  });
  await enrolSimulatedNode(operator, machine, name);
});
afterAll(async () => {
  await machine.close();
  await conductor.close();
});

async function deploy(): Promise<void> {
  // the release of an instance forgets it
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
}

async function release(preserve: boolean): Promise<Record<string, unknown>> {
  await operator.provision(name, 'deleted', { wipe: { preserve_local_storage: preserve } });
  const node = await operator.waitForState(name, 'available');
  return node['driver_internal_info'] as Record<string, unknown>;
}

/** Serial numbers of what the next deploy's plan destroys. */
async function planned(): Promise<readonly unknown[]> {
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/instance_info', value: demoInstance }]);
  const plan = await operator.call('POST', `/v1/nodes/${name}/plan`, { target: 'active' });
  return (plan['destroys'] as readonly Record<string, unknown>[]).map(({ serial }) => serial);
}

test("the operating system's disk is wiped, and the next deploy leaves the other alone", async () => {
  await deploy();
  expect(await release(true)).toMatchObject({
    baton_os_disk: { disks: [{ name: '/dev/sda', serial: osSerial }] },
    baton_spared_disks: [{ serial: 'DATA', wwn: null }],
  });
  expect(machine.disk.at(-1)).toBe(`erase_devices ${osSerial}`);
  expect(await planned()).toEqual([osSerial]);
});

test('a wipe of all ends that, and nothing is known of an operating system any more', async () => {
  await deploy();
  const known = await release(false);
  expect(machine.disk.at(-1)).toBe(`erase_devices ${osSerial}, DATA`);
  expect(known).not.toHaveProperty('baton_os_disk');
  expect(known).not.toHaveProperty('baton_spared_disks');
  expect(await planned()).toEqual(['DATA']);
});

test('a disk that vanishes before a wipe of all stops it, until it is back or an inspection does without it', async () => {
  await deploy();
  const pulled = disks.splice(0);
  await operator.provision(name, 'deleted', { wipe: {} });
  const failed = await operator.waitForState(name, 'clean failed');
  expect(failed['last_error']).toContain('the wipe did not find /dev/sdb (serial DATA), which this machine had');

  await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  const again = async (state: string): Promise<Record<string, unknown>> => {
    await operator.provision(name, 'manage');
    await operator.waitForState(name, 'manageable');
    await operator.provision(name, 'provide', { wipe: {} });
    return operator.waitForState(name, state);
  };
  // the inventory of the first wipe does not have it either
  expect((await again('clean failed'))['last_error']).toContain('serial DATA');
  await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'inspect');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'provide', { wipe: {} });
  await operator.waitForState(name, 'available');
  disks.push(...pulled);
});

test('where no disk is known to hold an operating system, none is guessed and nothing is touched', async () => {
  const before = machine.disk.length;
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  await operator.provision(name, 'provide', { wipe: { preserve_local_storage: true } });
  const node = await operator.waitForState(name, 'clean failed');
  expect(node['last_error']).toContain('no deploy has recorded the disk of the operating system');
  expect(node['maintenance']).toBe(true);
  expect(machine.disk).toHaveLength(before);
});
