import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** Whole deploys by BMCs that don't do what they are asked to boot from: a conductor, a Redfish BMC and a real agent over HTTP. */

let conductor: ConductorInProcess;
let operator: Operator;
let machine: SimulatedNode;
let name: string;
let count = 0;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createOperator(conductor.url);
});
afterAll(() => conductor.close());
beforeEach(async () => {
  count += 1;
  const mac = `52:54:00:00:b9:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  name = await enrolSimulatedNode(operator, machine, `boot-shown-${count}`);
  await askForMode('uefi');
  machine.faults.saysInstalled = true;
  return () => machine.close();
});

async function askForMode(mode: string): Promise<void> {
  const capabilities = { op: 'add', path: '/instance_info/capabilities', value: `boot_mode:${mode}` };
  await operator.call('PATCH', `/v1/nodes/${name}`, [capabilities]);
}

async function deploy(quirks: Partial<Quirks>, state: 'active' | 'deploy failed'): Promise<string> {
  Object.assign(machine.bmc.quirks, quirks);
  await operator.provision(name, 'active');
  const { last_error } = await operator.waitForState(name, state);
  return String(last_error);
}

async function history(): Promise<readonly string[]> {
  const { history } = await operator.call('GET', `/v1/nodes/${name}/history`);
  return (history as { event: string }[]).map(({ event }) => event);
}

async function note(of: string): Promise<string | null> {
  const { steps } = await operator.call('GET', `/v1/nodes/${name}/flow`);
  return (steps as { step: string; note: string | null }[]).find(({ step }) => step === of)?.note ?? null;
}

test('a boot device that is taken and not shown ends the deploy before the machine starts', async () => {
  expect(await deploy({ bootPatches: 'ignored' }, 'deploy failed')).toMatch(
    /set boot device pxe at .*the BMC has taken it, and does not show it: asked for Pxe Once UEFI, shown is None Disabled UEFI/,
  );
  expect([machine.boots(), machine.disk]).toEqual([0, []]);
});

test.each<[string, Partial<Quirks>]>([
  ['forgets the boot mode', { forgetsBootMode: true }],
  ['refuses a boot device, and has set it', { bootPatches: 'refused and done' }],
  ['has a link to settings that leads to nothing', { deadSettingsLinks: true }],
  ['names the place of its settings in the refusal alone', { bootViaSettings: true, unlinkedSettings: true }],
  ['holds a device for all boots for one', { bootHolds: 'Once' }],
])('a deploy by a BMC that %s ends active', async (_, quirks) => {
  await deploy(quirks, 'active');
  expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
});

test('a device that is held for one boot is said on the node', async () => {
  await deploy({ overrideEnabled: ['Once', 'Disabled'] }, 'active');
  expect(await history()).toContainEqual(
    expect.stringMatching(/^the BMC takes disk for one boot only: Baton sets it again/),
  );
});

const uefiOnly = ['None', 'Pxe', 'BiosSetup', 'UefiTarget', 'UefiHttp'];

test('a board that has no disk to choose boots by the entry that the agent has written', async () => {
  await deploy({ bootTargets: uefiOnly }, 'active');
  expect(machine.state()).toEqual({ power: 'on', runs: 'instance' });
  const warning = /the boot entry that the agent has written decides: .*the BMC offers None, Pxe, BiosSetup/;
  expect(await note('prepare_instance_boot')).toMatch(warning);
  expect(await history()).toContainEqual(expect.stringMatching(warning));
});

test('the entry does not decide where somebody has set another device, which Baton has no name for', async () => {
  expect(await deploy({ bootTargets: uefiOnly, bootsBefore: 'Usb' }, 'deploy failed')).toMatch(
    /the BMC shows Usb, which the machine would boot first; clear it at the BMC/,
  );
});

test('under BIOS, where nothing else leads to the disk, it is refused before the disk is touched', async () => {
  await askForMode('bios');
  expect(await deploy({ bootTargets: uefiOnly }, 'deploy failed')).toMatch(
    /boot device disk: the BMC offers None, Pxe/,
  );
  expect([machine.boots(), machine.disk]).toEqual([0, []]);
});
