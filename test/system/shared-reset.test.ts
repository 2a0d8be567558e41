import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { silentLog } from '#shared/log.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** BIOS settings that take effect at the reset of a later step of another kind. */

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
  conductor.atCheckpoints(() => 'go on');
  count += 1;
  const mac = `52:54:00:00:ba:${count.toString(16).padStart(2, '0')}`;
  machine = await startSimulatedNode({ conductorUrl: () => conductor.url, mac });
  Object.assign(machine.bmc.quirks, { volumeApplyTimes: ['OnReset'], taskPolls: 0 });
  name = await enrolSimulatedNode(operator, machine, `shared-${count}`);
  await operator.call('PATCH', `/v1/nodes/${name}`, [{ op: 'add', path: '/raid_interface', value: 'redfish' }]);
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
  const logical_disks = [
    { size_gb: 'MAX', raid_level: '1', disk_type: 'ssd' },
    { size_gb: 1000, raid_level: '5', disk_type: 'hdd', number_of_physical_disks: 3 },
  ];
  await operator.call('PUT', `/v1/nodes/${name}/states/raid`, { logical_disks });
  return () => machine.close();
});

const bios = (setting: string, value: unknown) => ({
  interface: 'bios',
  step: 'apply_configuration',
  args: { settings: [{ name: setting, value }] },
});
const create = { interface: 'raid', step: 'create_configuration' };
const remove = { interface: 'raid', step: 'delete_configuration' };

async function clean(...clean_steps: readonly object[]): Promise<void> {
  await operator.provision(name, 'clean', { clean_steps, disable_ramdisk: true });
}

async function cleanAll(...steps: readonly object[]): Promise<void> {
  await clean(...steps);
  await operator.waitForState(name, 'manageable');
}

async function cached(setting: string): Promise<unknown> {
  const answer = await operator.call('GET', `/v1/nodes/${name}/bios/${setting}`);
  return (answer[setting] as Record<string, unknown>)['value'];
}

async function volumes(): Promise<unknown[]> {
  const config = (await operator.node(name))['raid_config'] as { logical_disks?: unknown[] };
  return config.logical_disks ?? [];
}

async function shown(key: 'note' | 'state'): Promise<unknown[]> {
  const { steps } = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as { steps: Record<string, unknown>[] };
  return steps.filter((step) => step['phase'] === 'main').map((step) => step[key]);
}

const reset = { method: 'POST', path: /ComputerSystem\.Reset$/, times: 1000 };
const resets = () =>
  machine.bmc.requests.filter(({ method, body }) => method === 'POST' && body.includes('"On"')).length;

test('settings, Secure Boot, the boot mode and volumes: one reset', async () => {
  await cleanAll(
    bios('SysProfile', 'Performance'),
    { interface: 'management', step: 'secure_boot', args: { secure_boot: true } },
    bios('NumCores', 4),
    bios('Virtualization', false),
    { interface: 'management', step: 'boot_mode', args: { boot_mode: 'uefi' } },
    bios('AssetTag', 'rack 7'),
    create,
  );
  expect(resets()).toBe(1);
  expect(await volumes()).toHaveLength(2);
  for (const [setting, value] of [
    ['SysProfile', 'Performance'],
    ['NumCores', '4'],
    ['Virtualization', 'false'],
    ['AssetTag', 'rack 7'],
  ] as const) {
    expect(await cached(setting)).toBe(value);
  }
});

test('a setting and the firmware of a network card: one reset', async () => {
  const settings = [{ component: 'nic:NIC.Slot.1', url: 'http://192.0.2.7/nic-4.0.0.bin' }];
  await cleanAll(bios('NumCores', 4), { interface: 'firmware', step: 'update', args: { settings } });
  expect([resets(), await cached('NumCores')]).toEqual([1, '4']);
});

test.each([
  ['bios', 'bios-2.1.0.bin'],
  ['bmc', 'bmc-2.1.0.bin'],
  // an item of the inventory, which may be the BIOS's
  ['NIC.Slot.1', 'nic-4.0.0.bin'],
])('new firmware of %s may forget what waits: it does not wait', async (component, image) => {
  const settings = [{ component, url: `http://192.0.2.7/${image}` }];
  await cleanAll(bios('NumCores', 4), { interface: 'firmware', step: 'update', args: { settings } });
  const at = (path: RegExp) => machine.bmc.requests.findIndex((each) => each.method === 'POST' && path.test(each.path));
  expect(at(/ComputerSystem\.Reset$/)).toBeLessThan(at(/SimpleUpdate$/));
  expect(await cached('NumCores')).toBe('4');
});

test('volumes that are there already: the settings get their reset', async () => {
  await cleanAll(create);
  const before = resets();
  await cleanAll(bios('NumCores', 4), create);
  expect([resets() - before, await cached('NumCores')]).toEqual([1, '4']);
});

test('a reset that the BMC refuses is asked for again, also by the next conductor', async () => {
  await cleanAll(create);
  const powerCalls = () => machine.bmc.requests.filter(({ path }) => path.endsWith('ComputerSystem.Reset')).length;
  const [before, deaths] = [powerCalls(), conductor.deaths()];
  machine.bmc.inject({ path: /ComputerSystem\.Reset$/, status: 503, headers: { 'retry-after': '0' }, times: 5 });
  conductor.atCheckpoints(() => (powerCalls() === before + 5 && conductor.deaths() === deaths ? 'die' : 'go on'));
  await cleanAll(bios('NumCores', 4), create);
  expect([conductor.deaths() - deaths, await cached('NumCores')]).toEqual([1, '4']);
});

test('amid a deploy the ramdisk comes back, once', async () => {
  await operator.provision(name, 'provide');
  await operator.waitForState(name, 'available');
  const raid_config = { logical_disks: [{ size_gb: 'MAX', raid_level: '1', disk_type: 'ssd' }] };
  const apply = { interface: 'raid', step: 'apply_configuration', priority: 85, args: { raid_config } };
  await operator.provision(name, 'active', { deploy_steps: [{ ...bios('NumCores', 4), priority: 86 }, apply] });
  await operator.waitForState(name, 'active');
  // ramdisk, ramdisk again, instance
  expect([resets(), await cached('NumCores'), await volumes()]).toEqual([3, '4', [expect.anything()]]);
});

test('a controller that only the setting brings is waited for', async () => {
  const { promise, resolve: letItApply } = Promise.withResolvers<void>();
  Object.assign(machine.bmc.quirks, { noVolumes: true, biosAppliesAfter: promise });
  await clean(bios('SysProfile', 'Performance'), create);
  await expect.poll(resets).toBe(1);
  expect(await shown('note')).toContain('by the reset of raid.create_configuration');
  machine.bmc.quirks.noVolumes = false;
  letItApply();
  await operator.waitForState(name, 'manageable');
  expect([resets(), await cached('SysProfile'), await volumes()]).toEqual([
    2,
    'Performance',
    [expect.anything(), expect.anything()],
  ]);
});

test('a setting that the firmware does not take fails the step that has reset the machine, and names it', async () => {
  machine.bmc.quirks.biosFailsAtReset = { NumCores: 'Too few cores for this memory.' };
  await clean(bios('NumCores', 4), create);
  const { last_error: error } = await operator.waitForState(name, 'clean failed');
  expect(error).toContain('the firmware did not take the BIOS settings NumCores = 4 (now 8): Too few cores');
  expect(await shown('state')).toEqual(expect.arrayContaining(['succeeded', 'failed']));
});

test('the step that is to reset the machine is not skipped, nor failed by a refusal after unclear answers', async () => {
  await cleanAll(create);
  machine.bmc.inject({ ...reset, status: 503, headers: { 'retry-after': '0' } });
  await clean(bios('NumCores', 4), create);
  const skip = async (): Promise<string> => {
    const { steps } = (await operator.call('GET', `/v1/nodes/${name}/flow`)) as { steps: Record<string, unknown>[] };
    const step = steps.find((each) => each['interface'] === 'raid' && each['state'] === 'waiting');
    const { flows } = (await operator.call('GET', '/v1/flows')) as { flows: Record<string, unknown>[] };
    const own = flows.find((flow) => flow['node_name'] === name);
    if (!step) return 'it does not wait yet';
    const asked = operator.call('POST', `/v1/nodes/${name}/flow/skip`, { step: step['uuid'] });
    return [step['may_skip'], own?.['may_skip'], await asked.then(() => 'skipped', String)].join(' ');
  };
  const why = 'the settings of bios.apply_configuration before it take effect at its reset; abort the flow';
  await expect.poll(skip, { timeout: 30_000 }).toMatch(new RegExp(`^false false .*409.*can't be skipped: ${why}`));
  machine.bmc.clearFaults();
  machine.bmc.inject({ ...reset, status: 400, times: 1 });
  await operator.waitForState(name, 'manageable');
  expect([machine.bmc.faultsLeft(), await cached('NumCores')]).toEqual([0, '4']);
});

test('where the BMC refuses the reset, the settings that wait for it are told of', async () => {
  await cleanAll(create);
  machine.bmc.inject({ ...reset, status: 400 });
  await clean(bios('NumCores', 4), create);
  const { last_error: error } = await operator.waitForState(name, 'clean failed');
  const lost = 'its settings wait at the BMC for the next reset, which raid.create_configuration did not make';
  expect(error).toContain(`bios.apply_configuration: ${lost}`);
  expect(await shown('note')).toContain(lost);
});

test('what the BMC refuses is refused as ever', async () => {
  machine.bmc.inject({ method: 'POST', path: /Volumes$/, status: 400, times: 9 });
  await clean(bios('NumCores', 4), create);
  const { last_error: error } = await operator.waitForState(name, 'clean failed');
  expect(error).toContain('create a RAID 1 volume');
});

test('a conductor that dies at any checkpoint loses neither settings nor volumes', async () => {
  const valueAt = (checkpoint: number): string => (checkpoint % 2 === 0 ? 'Performance' : 'Custom');
  const deaths = await conductor.dieAtEach({
    prepare: () => cleanAll(remove),
    act: (checkpoint) => cleanAll(bios('SysProfile', valueAt(checkpoint)), create),
    check: async (checkpoint) => {
      const found = [checkpoint, await cached('SysProfile'), (await volumes()).length];
      expect(found).toEqual([checkpoint, valueAt(checkpoint), 2]);
    },
  });
  expect(deaths).toBeGreaterThanOrEqual(5);
});
