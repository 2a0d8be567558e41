import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { flowEvents } from '#conductor/kernel/db/schema/flow.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import { type SimulatedNode, startSimulatedNode } from '#test/simulators/node/simulated-node.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { enrolSimulatedNode } from '#test/support/enrol.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';

/** BIOS settings by the BMC, in whole flows: a conductor, a Redfish BMC and a real agent over real HTTP. */

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
  machine = await startSimulatedNode({
    conductorUrl: () => conductor.url,
    mac: `52:54:00:00:b1:${count.toString(16).padStart(2, '0')}`,
  });
  name = await enrolSimulatedNode(operator, machine, `bios-${count}`);
  return () => machine.close();
});

const settings = [
  { name: 'SysProfile', value: 'Performance' },
  { name: 'NumCores', value: 4 },
];
const apply = (priority: number, args: unknown = { settings }) => ({
  interface: 'bios',
  step: 'apply_configuration',
  priority,
  args,
});

async function cached(setting: string): Promise<unknown> {
  const answer = await operator.call('GET', `/v1/nodes/${name}/bios/${setting}`);
  return (answer[setting] as Record<string, unknown>)['value'];
}

interface ShownStep {
  readonly step: string;
  readonly state: string;
  readonly waiting_for: string | null;
}

async function steps(): Promise<ShownStep[]> {
  return (await operator.call('GET', `/v1/nodes/${name}/flow`))['steps'] as ShownStep[];
}

const inARow = (profile: string): object[] =>
  [
    { name: 'SysProfile', value: profile },
    { name: 'NumCores', value: 4 },
  ].map((setting) => ({ interface: 'bios', step: 'apply_configuration', args: { settings: [setting] } }));

const patches = () =>
  machine.bmc.requests.filter(({ method, path }) => method === 'PATCH' && path.endsWith('Settings'));
const powerOns = () =>
  machine.bmc.requests.filter(({ method, body }) => method === 'POST' && body.includes('"On"')).length;

async function setAutomatedClean(): Promise<void> {
  await operator.provision(name, 'manage');
  await operator.waitForState(name, 'manageable');
}

test('settings are cached since the node was verified', async () => {
  expect(await cached('SysProfile')).toBe('PerfPerWatt');
  expect(await operator.node(name)).toMatchObject({ bios_interface: 'redfish' });
});

test('between in-band steps: the reset brings the ramdisk back, in which the flow goes on', async () => {
  await operator.provision(name, 'active', { deploy_steps: [apply(85)] });
  await operator.waitForState(name, 'active');
  expect((await steps()).map(({ step }) => step).slice(0, 4)).toEqual([
    'deploy',
    'prepare_disks',
    'apply_configuration',
    'write_image',
  ]);
  expect(await cached('SysProfile')).toBe('Performance');
  expect(await cached('NumCores')).toBe('4');
  expect(patches()).toHaveLength(1);
  // ramdisk, ramdisk again, instance
  expect(powerOns()).toBe(3);
});

test('above 100: before the ramdisk boots', async () => {
  await operator.provision(name, 'active', { deploy_steps: [apply(110)] });
  await operator.waitForState(name, 'active');
  expect((await steps()).map(({ step }) => step).slice(0, 2)).toEqual(['apply_configuration', 'deploy']);
  expect(await cached('NumCores')).toBe('4');
});

test('what is so already is left alone, without a reset', async () => {
  await operator.provision(name, 'active', {
    deploy_steps: [apply(85, { settings: [{ name: 'NumCores', value: 8 }] })],
  });
  await operator.waitForState(name, 'active');
  expect(patches()).toHaveLength(0);
  expect(powerOns()).toBe(2);
});

test('a listed value written otherwise, and what no BMC takes, is refused before anything is touched', async () => {
  const before = machine.bmc.requests.length;
  const bad = apply(85, {
    settings: [
      { name: 'NumCores', value: 'many' },
      { name: 'SysProfile', value: 'PERFORMANCE' },
      { name: 'Nope', value: 'x' },
    ],
  });
  await expect(operator.provision(name, 'active', { deploy_steps: [bad] })).rejects.toThrow(
    /NumCores: 'many' is not possible; it must be an integer from 1 up to 8; SysProfile: .*did you mean Performance\?; Nope: no such setting/,
  );
  expect(machine.bmc.requests.slice(before).filter(({ method }) => method !== 'GET')).toEqual([]);
  expect(await operator.node(name)).toMatchObject({ provision_state: 'available' });
});

const advised = "BIOS settings are asked for against the advice of the BMC's registry: ";

test('what the registry calls read only is asked for, and freed by another setting of the same step', async () => {
  machine.bmc.quirks.biosFreedBy = { NumCores: ['SysProfile', 'Performance'] };
  await setAutomatedClean();
  const clean = (args: unknown) => ({ interface: 'bios', step: 'apply_configuration', args });
  const alone = [clean({ settings: settings.slice(1) })];
  await operator.provision(name, 'clean', { clean_steps: alone, disable_ramdisk: true });
  const refused = await operator.waitForState(name, 'clean failed');
  expect(refused['last_error']).toContain('NumCores is read only and depends on other attributes');
  await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
  await setAutomatedClean();
  await operator.provision(name, 'clean', { clean_steps: [clean({ settings })], disable_ramdisk: true });
  await operator.waitForState(name, 'manageable');
  expect(await cached('NumCores')).toBe('4');
  const { history } = await operator.call('GET', `/v1/nodes/${name}/history`);
  const said = `${advised}NumCores: it is read only (its value is 8)`;
  expect((history as { event: string }[]).map(({ event }) => event)).toContain(said);
});

test('a value that only a registry of another BIOS version lists is asked for, and the BMC decides', async () => {
  const wanted = [
    { name: 'SysProfile', value: 'Turbo' },
    { name: 'NumCores', value: 16 },
  ];
  machine.bmc.quirks.biosTakesUnlisted = ['SysProfile'];
  await operator.provision(name, 'active', { deploy_steps: [apply(110, { settings: wanted })] });
  const refused = await operator.waitForState(name, 'deploy failed');
  expect(refused['last_error']).toContain('The value 16 for the attribute NumCores is out of range.');
  machine.bmc.quirks.biosTakesUnlisted = ['SysProfile', 'NumCores'];
  await operator.provision(name, 'active', { deploy_steps: [apply(110, { settings: wanted })] });
  await operator.waitForState(name, 'active');
  expect([await cached('SysProfile'), await cached('NumCores')]).toEqual(['Turbo', '16']);
  const { history } = await operator.call('GET', `/v1/nodes/${name}/history`);
  expect(JSON.stringify(history)).toContain(`${advised}SysProfile: 'Turbo' is not possible`);
});

test('a BMC that shows no attributes is not waited for', async () => {
  machine.bmc.quirks.nullAttributes = 'all';
  await operator.provision(name, 'active', { deploy_steps: [apply(110)] });
  const failed = await operator.waitForState(name, 'deploy failed');
  expect(failed['last_error']).toMatch(
    /shows no BIOS attributes, and nothing would tell whether SysProfile, NumCores hold/,
  );
  expect(patches()).toHaveLength(0);
});

test('nor is a machine booted for an EFI variable that can not be', async () => {
  for (const [setting, value, says] of [
    ['efi.boot_timeout', 'soon', "efi.boot_timeout: 'soon' is not possible"],
    ['efi.boot_tiemout', 3, 'efi.boot_tiemout: no such setting'],
    ['efi.setup_mode', true, 'efi.setup_mode: it is read only'],
  ] as const) {
    const step = apply(85, { settings: [{ name: setting, value }] });
    await expect(operator.provision(name, 'active', { deploy_steps: [step] })).rejects.toThrow(says);
  }
  expect(machine.boots()).toBe(0);
});

test('a refusal and a failure at the reset name setting and reason', async () => {
  machine.bmc.quirks.biosRefuses = { NumCores: 'NumCores is locked by a policy.' };
  await operator.provision(name, 'active', { deploy_steps: [apply(85)] });
  const refused = await operator.waitForState(name, 'deploy failed');
  expect(refused['last_error']).toContain('NumCores is locked by a policy.');

  machine.bmc.quirks.biosRefuses = {};
  machine.bmc.quirks.biosFailsAtReset = { NumCores: 'Too few cores for this memory.' };
  await operator.provision(name, 'active', { deploy_steps: [apply(85)] });
  const failed = await operator.waitForState(name, 'deploy failed');
  expect(failed['last_error']).toContain(
    'the firmware did not take the BIOS settings NumCores = 4 (now 8): Too few cores for this memory.',
  );
});

test('a firmware that takes its time is waited for', async () => {
  const { promise, resolve: letItApply } = Promise.withResolvers<void>();
  machine.bmc.quirks.biosAppliesAfter = promise;
  await operator.provision(name, 'active', { deploy_steps: [apply(110)] });
  await expect
    .poll(async () => (await steps()).map(({ waiting_for }) => waiting_for))
    .toContain(
      'the firmware to take the BIOS settings SysProfile = Performance (now PerfPerWatt), NumCores = 4 (now 8)',
    );
  letItApply();
  await operator.waitForState(name, 'active');
  expect(await cached('NumCores')).toBe('4');
});

test('a password alone is set by a reset, and its value is told to nobody', async () => {
  const secret = 'a-pass-word';
  const password = apply(85, { settings: [{ name: 'SetupPassword', value: secret }] });
  await operator.provision(name, 'active', { deploy_steps: [password] });
  await operator.waitForState(name, 'active');
  expect(patches().map(({ body }) => body)).toEqual([expect.stringContaining(secret)]);
  // ramdisk, ramdisk again, instance
  expect(powerOns()).toBe(3);

  machine.bmc.quirks.biosFailsAtReset = { NumCores: `Too few cores, and '${secret}' is too long.` };
  const both = [
    { name: 'SetupPassword', value: secret },
    { name: 'NumCores', value: 4 },
  ];
  await operator.provision(name, 'rebuild', { deploy_steps: [apply(85, { settings: both })] });
  expect((await operator.waitForState(name, 'deploy failed'))['last_error']).toContain(
    "NumCores = 4 (now 8): Too few cores, and '******' is too long.",
  );
  machine.bmc.quirks.biosRefuses = { SetupPassword: `The value '${secret}' is not acceptable.` };
  await operator.provision(name, 'active', { deploy_steps: [password] });
  expect((await operator.waitForState(name, 'deploy failed'))['last_error']).toContain(
    "The value '******' is not acceptable.",
  );
  await expectUntold(secret);
});

test('a BMC that names no types: what it reads as null is not polled, no value is told', async () => {
  const secret = 'a-pass-word';
  machine.bmc.quirks.noAttributeRegistry = true;
  const { promise, resolve: letItApply } = Promise.withResolvers<void>();
  machine.bmc.quirks.biosAppliesAfter = promise;
  const both = [
    { name: 'SetupPassword', value: secret },
    { name: 'SysProfile', value: 'Performance' },
  ];
  await operator.provision(name, 'active', { deploy_steps: [apply(110, { settings: both })] });
  await expect
    .poll(async () => (await steps()).map(({ waiting_for }) => waiting_for))
    .toContain('the firmware to take the BIOS settings SysProfile');
  letItApply();
  await operator.waitForState(name, 'active');
  expect(patches()).toHaveLength(1);
  await expectUntold(secret);
});

/** Not in the node, its flow, its history, the events of its steps. */
async function expectUntold(secret: string): Promise<void> {
  const { db } = conductor.context();
  const shown = [
    await operator.node(name),
    await operator.call('GET', `/v1/nodes/${name}/flow`),
    await operator.call('GET', `/v1/nodes/${name}/history?detail=true`),
    await db.select().from(flowEvents),
  ];
  expect(JSON.stringify(shown)).not.toContain(secret);
}

test("a BMC without BIOS settings leaves it to the agent, as does an EFI variable's name", async () => {
  const efi = apply(85, { settings: [{ name: 'efi.boot_timeout', value: 3 }] });
  await operator.provision(name, 'active', { deploy_steps: [efi] });
  // the simulated ramdisk has no such step: its words show who was asked
  const own = await operator.waitForState(name, 'deploy failed');
  expect(own['last_error']).toContain('Could not find method: apply_configuration');

  machine.bmc.quirks.noBios = true;
  await operator.provision(name, 'active', { deploy_steps: [apply(85)] });
  const bare = await operator.waitForState(name, 'deploy failed');
  expect(bare['last_error']).toContain('Could not find method: apply_configuration');
  await operator.provision(name, 'active', { deploy_steps: [apply(110)] });
  const early = await operator.waitForState(name, 'deploy failed');
  expect(early['last_error']).toContain('the BMC has no BIOS settings, and no agent runs now');
});

test.each<[string, Partial<Quirks>, number]>([
  ['one reset', {}, 1],
  ['one reset where a BMC takes settings once only', { oneBiosJob: true }, 1],
  ['a reset for each where the BMC refuses them together', { oneBiosJob: true, biosRefusesMoreThan: 1 }, 4],
])('settings of steps in a row cost %s', async (_, quirks, resets) => {
  Object.assign(machine.bmc.quirks, quirks);
  await setAutomatedClean();
  const each = [
    { name: 'SysProfile', value: 'Performance' },
    { name: 'NumCores', value: 4 },
    { name: 'Virtualization', value: false },
    { name: 'AssetTag', value: 'rack 7' },
  ];
  const clean_steps = each.map((setting) => ({
    interface: 'bios',
    step: 'apply_configuration',
    args: { settings: [setting] },
  }));
  const before = powerOns();
  await operator.provision(name, 'clean', { clean_steps, disable_ramdisk: true });
  await operator.waitForState(name, 'manageable');
  expect(powerOns() - before).toBe(resets);
  for (const { name: setting, value } of each) expect(await cached(setting)).toBe(String(value));
});

test('what one step of a row sets otherwise than the next gets a reset of its own', async () => {
  await setAutomatedClean();
  const clean_steps = [8, 4, 2].map((value) => ({
    interface: 'bios',
    step: 'apply_configuration',
    args: { settings: [{ name: 'NumCores', value }] },
  }));
  const before = powerOns();
  await operator.provision(name, 'clean', { clean_steps, disable_ramdisk: true });
  await operator.waitForState(name, 'manageable');
  expect([powerOns() - before, await cached('NumCores')]).toEqual([2, '2']);
});

test("a following step's setting that fails at the shared reset is that step's failure", async () => {
  await setAutomatedClean();
  machine.bmc.quirks.biosFailsAtReset = { NumCores: 'Too few cores for this memory.' };
  const clean_steps = settings.map((setting) => ({
    interface: 'bios',
    step: 'apply_configuration',
    args: { settings: [setting] },
  }));
  await operator.provision(name, 'clean', { clean_steps, disable_ramdisk: true });
  await operator.waitForState(name, 'clean failed');
  expect((await steps()).map(({ state }) => state).slice(0, 2)).toEqual(['succeeded', 'failed']);
  expect(await cached('SysProfile')).toBe('Performance');
});

test.each([true, false])("without a ramdisk: %s: what a next step's setting takes along is set alone", async (bare) => {
  await setAutomatedClean();
  machine.bmc.quirks.biosFailsAtReset = { NumCores: 'Too few cores for this memory.' };
  machine.bmc.quirks.biosTakesAllOrNone = true;
  const clean_steps = inARow('Performance');
  await operator.provision(name, 'clean', { clean_steps, disable_ramdisk: bare });
  const failed = await operator.waitForState(name, 'clean failed');
  expect(failed['last_error']).toContain('BIOS settings NumCores = 4 (now 8): Too few cores for this memory.');
  const ofBios = (await steps()).filter(({ step }) => step === 'apply_configuration');
  expect(ofBios.map(({ state }) => state)).toEqual(['succeeded', 'failed']);
  expect(await cached('SysProfile')).toBe('Performance');
  // together, the first alone, the second alone
  expect(patches()).toHaveLength(3);
});

test('a conductor that dies at any checkpoint of that loses no setting', async () => {
  machine.bmc.quirks.biosFailsAtReset = { NumCores: 'Too few cores for this memory.' };
  machine.bmc.quirks.biosTakesAllOrNone = true;
  const valueAt = (checkpoint: number): string => (checkpoint % 2 === 0 ? 'Performance' : 'Custom');
  const deaths = await conductor.dieAtEach({
    prepare: async () => {
      await operator.call('DELETE', `/v1/nodes/${name}/maintenance`);
      await setAutomatedClean();
    },
    act: async (checkpoint) => {
      const clean_steps = inARow(valueAt(checkpoint));
      await operator.provision(name, 'clean', { clean_steps, disable_ramdisk: true });
      await operator.waitForState(name, 'clean failed');
    },
    check: async (checkpoint) => {
      expect([checkpoint, await cached('SysProfile')]).toEqual([checkpoint, valueAt(checkpoint)]);
    },
  });
  expect(deaths).toBeGreaterThanOrEqual(5);
});

test('manual cleaning: changed, then back to defaults', async () => {
  await setAutomatedClean();
  const clean_steps = [
    { interface: 'bios', step: 'apply_configuration', args: { settings } },
    { interface: 'bios', step: 'factory_reset' },
  ];
  await operator.provision(name, 'clean', { clean_steps });
  await operator.waitForState(name, 'manageable');
  expect(await cached('SysProfile')).toBe('PerfPerWatt');
  expect(patches()).toHaveLength(1);
});

test('a conductor that dies at any checkpoint of the step ends with the values in place', async () => {
  const valueAt = (checkpoint: number): string => (checkpoint % 2 === 0 ? 'Performance' : 'Custom');
  const deaths = await conductor.dieAtEach({
    prepare: async () => {
      await operator.provision(name, 'manage');
      await operator.waitForState(name, 'manageable');
    },
    act: async (checkpoint) => {
      const settings = [{ name: 'SysProfile', value: valueAt(checkpoint) }];
      const clean_steps = [{ interface: 'bios', step: 'apply_configuration', args: { settings } }];
      await operator.provision(name, 'clean', { clean_steps });
      await operator.waitForState(name, 'manageable');
    },
    check: async (checkpoint) => {
      expect([checkpoint, await cached('SysProfile')]).toEqual([checkpoint, valueAt(checkpoint)]);
      await operator.provision(name, 'provide');
      await operator.waitForState(name, 'available');
    },
  });
  expect(deaths).toBeGreaterThanOrEqual(5);
});

test('the baremetal CLI lists and shows settings', async () => {
  const baremetal = async (...args: string[]): Promise<unknown> => {
    const command = ['--os-auth-type', 'none', '--os-endpoint', conductor.url, 'node', 'bios', 'setting'];
    const { stdout } = await run('baremetal', [...command, ...args, '-f', 'json'], { timeoutMs: 300_000 });
    return JSON.parse(stdout);
  };
  expect(await baremetal('list', name)).toContainEqual({
    'BIOS setting name': 'NumCores',
    'BIOS setting value': '8',
  });
  expect(await baremetal('show', name, 'NumCores')).toMatchObject({
    name: 'NumCores',
    value: '8',
    attribute_type: 'Integer',
    upper_bound: 8,
  });
});
