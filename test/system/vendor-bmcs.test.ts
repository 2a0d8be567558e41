import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { vendorNames, vendors } from '#test/simulators/redfish/vendors.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Whole flows on BMCs that differ as vendors' do: a conductor, a Redfish BMC and a real agent over real HTTP. */

let conductor: ConductorInProcess;
let operator: Operator;
const machines: SimulatedNode[] = [];

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
});
afterAll(async () => {
  await conductor.close();
  for (const machine of machines) await machine.close();
});

async function enrol(name: string, quirks: Partial<Quirks>): Promise<SimulatedNode> {
  const mac = `52:54:00:00:b2:${machines.length.toString(16).padStart(2, '0')}`;
  const machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  machines.push(machine);
  Object.assign(machine.bmc.quirks, quirks);
  await enrolSimulatedNode(operator, machine, name);
  return machine;
}

/** Boot overrides and resets that were asked of the BMC, in order, from the `from`th request on. */
function actions(machine: SimulatedNode, from = 0): string[] {
  return machine.bmc.requests.slice(from).flatMap(({ method, path, body }) => {
    if (method === 'POST' && path.endsWith('ComputerSystem.Reset'))
      return [/"ResetType":"(\w+)"/.exec(body)?.[1] ?? ''];
    if (method !== 'PATCH' || !body.includes('BootSourceOverrideTarget')) return [];
    const { Boot: boot } = JSON.parse(body) as { readonly Boot: Readonly<Record<string, string>> };
    return [`${boot['BootSourceOverrideTarget']} ${boot['BootSourceOverrideEnabled']}`];
  });
}

async function power(name: string, target: string): Promise<void> {
  await operator.call('PUT', `/v1/nodes/${name}/states/power`, { target });
  await expect.poll(async () => (await operator.node(name))['target_power_state']).toBeNull();
}

test('a BMC that takes a boot device for one boot only is asked again before each boot', async () => {
  const machine = await enrol('once', { overrideEnabled: ['Once', 'Disabled'] });
  await operator.provision('once', 'active');
  await operator.waitForState('once', 'active');
  expect(actions(machine).slice(-3)).toEqual(['Hdd Once', 'ForceOff', 'On']);

  const deployed = machine.bmc.requests.length;
  await power('once', 'rebooting');
  await power('once', 'power off');
  expect(actions(machine, deployed)).toEqual(['Hdd Once', 'ForceOff', 'On', 'ForceOff']);

  // what an operator sets for one boot comes first
  await operator.call('PUT', '/v1/nodes/once/management/boot_device', { boot_device: 'cdrom' });
  const set = machine.bmc.requests.length;
  await power('once', 'power on');
  expect(actions(machine, set)).toEqual(['On']);
  await power('once', 'rebooting');
  expect(actions(machine, set)).toEqual(['On', 'Hdd Once', 'ForceOff', 'On']);

  // and the ramdisk before what was remembered
  const again = machine.bmc.requests.length;
  await operator.provision('once', 'rebuild');
  await operator.waitForState('once', 'active');
  expect(actions(machine, again)).toEqual(['ForceOff', 'Pxe Once', 'On', 'Hdd Once', 'ForceOff', 'On']);
});

test('a BMC that refuses Continuous without saying so before is given Once', async () => {
  const machine = await enrol('refuses', { overrideEnabled: ['Once', 'Disabled'], noAllowableValues: true });
  await operator.call('PUT', '/v1/nodes/refuses/management/boot_device', { boot_device: 'disk', persistent: true });
  expect(actions(machine).slice(-2)).toEqual(['Hdd Continuous', 'Hdd Once']);
});

test('BIOS settings without a ramdisk need no port to boot one from', async () => {
  const machine = await enrol('portless', { passwordHashes: true });
  const { ports } = (await operator.call('GET', '/v1/nodes/portless/ports')) as {
    readonly ports: readonly { readonly uuid: string }[];
  };
  for (const { uuid } of ports) await operator.call('DELETE', `/v1/ports/${uuid}`);
  await operator.provision('portless', 'manage');
  await operator.waitForState('portless', 'manageable');
  const settings = [{ name: 'NumCores', value: 4 }];
  const clean_steps = [{ interface: 'bios', step: 'apply_configuration', args: { settings } }];
  await expect(operator.provision('portless', 'clean', { clean_steps })).rejects.toThrow('pxe_enabled');
  await operator.provision('portless', 'clean', { clean_steps, disable_ramdisk: true });
  await operator.waitForState('portless', 'manageable');
  const reported = (await operator.call('GET', '/v1/nodes/portless/bios?detail=true'))['bios'];
  expect(reported).toContainEqual(expect.objectContaining({ name: 'NumCores', value: '4' }));
  expect(reported).toContainEqual(expect.objectContaining({ name: 'SHA256SetupPassword', value: null }));
  expect(actions(machine)).not.toContain('Pxe Once');
});

test.each(vendorNames)('a node with the BMC of %s is deployed, rebuilt and released', async (vendor) => {
  const name = `vendor-${vendor.toLowerCase()}`;
  const machine = await enrol(name, vendors[vendor]);
  await operator.provision(name, 'active');
  await operator.waitForState(name, 'active');
  const keeps = vendors[vendor].overrideEnabled?.includes('Continuous') ?? true;
  expect(actions(machine)).toContain(keeps ? 'Hdd Continuous' : 'Hdd Once');
  await operator.provision(name, 'rebuild');
  await operator.waitForState(name, 'active');
  await operator.provision(name, 'deleted');
  await operator.waitForState(name, 'available');
  expect(await operator.node(name)).toMatchObject({ power_state: 'power off', last_error: null });
});
