import { afterEach, describe, expect, test } from 'vitest';
import { biosContract } from '#conductor/drivers/bios.contract.ts';
import type { BiosInterface, PowerInterface } from '#conductor/drivers/interfaces.ts';
import { listDropped } from '#conductor/drivers/redfish/bios/bios-waiting.ts';
import { redfishHardwareType } from '#conductor/drivers/redfish/redfish.ts';
import { hastyClock } from '#conductor/drivers/redfish/testing/rigs.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { run } from '#shared/process/run.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';

interface Rig {
  readonly bios: BiosInterface;
  readonly power: PowerInterface;
  readonly simulator: RedfishSimulator;
  close(): Promise<void>;
}

const open = new Set<Rig>();
afterEach(async () => {
  for (const each of open) await each.close();
});

async function rig(quirks: Partial<Quirks> = {}): Promise<Rig> {
  const machine = createMemoryMachine();
  const simulator = await startRedfishSimulator({ machine, username: 'admin', password: 'secret', quirks });
  const context = { run, log: silentLog, clock: hastyClock };
  const type = redfishHardwareType(context, { retryMs: 5, timings: { pollMs: 5, resendAfterMs: 100 } });
  const { bios, power } = type.connect({
    redfish_address: simulator.address,
    redfish_username: 'admin',
    redfish_password: 'secret',
  });
  if (!bios) throw new AppError('internal', 'the redfish type has no BIOS interface');
  const made: Rig = {
    bios,
    power,
    simulator,
    close: async () => {
      open.delete(made);
      await type.close?.();
      await simulator.close();
    },
  };
  open.add(made);
  return made;
}

const samples = {
  enumeration: { name: 'SysProfile', from: 'PerfPerWatt', to: 'Performance', illegal: 'Turbo' },
  integer: { name: 'NumCores', from: '8', to: '4' },
  boolean: { name: 'Virtualization', from: 'true', to: 'false' },
};
const variants: readonly (readonly [string, Partial<Quirks>])[] = [
  ['standard', {}],
  ['ETags demanded, slow power', { requireIfMatch: true, slowPowerMs: 20 }],
  ['rejects If-Match, no ETags', { rejectIfMatch: true, noEtag: true }],
];
for (const [name, quirks] of variants) {
  biosContract({ name: `redfish, ${name}`, make: () => rig(quirks), ...samples });
}

const cores = [{ name: 'NumCores', value: '2' }];

describe('deviations', () => {
  test('without a registry names and values are known, and types kept', async () => {
    const { bios, power } = await rig({ noAttributeRegistry: true });
    const found = (await bios.getSettings()).find(({ name }) => name === 'NumCores');
    expect(found).toMatchObject({ value: '8', attribute_type: null, upper_bound: null });
    await bios.applySettings(cores);
    await power.setPowerState('power on');
    expect((await bios.getProgress()).values.get('NumCores')).toBe('2');
  });

  test('a registry that is named but not there is none', async () => {
    const { bios, simulator } = await rig();
    simulator.inject({ path: /Registries\/Bios/, status: 404, times: 9 });
    expect((await bios.getSettings()).find(({ name }) => name === 'NumCores')).toMatchObject({ upper_bound: null });
  });

  test('a registry whose file has other names is found by its document', async () => {
    const dell = { id: 'BiosAttributeRegistry.v0_9_0', registry: 'BiosAttributeRegistry0.9' };
    const { bios } = await rig({ registryFileNames: dell });
    expect((await bios.getSettings()).find(({ name }) => name === 'NumCores')).toMatchObject({ upper_bound: 8 });
  });

  test.each([true, false])('hashes and salts of passwords are not told (registry: %s)', async (hasRegistry) => {
    const { bios } = await rig({ passwordHashes: true, noAttributeRegistry: !hasRegistry });
    const hashes = (await bios.getSettings()).filter(({ name }) => name.startsWith('SHA256SetupPassword'));
    expect(hashes).toHaveLength(2);
    expect(hashes).toMatchObject([{ value: null }, { value: null }]);
  });

  test('without a Settings object values are written to Bios, where they hold at once', async () => {
    const { bios } = await rig({ noBiosSettings: true });
    await bios.applySettings(cores);
    expect(await bios.getProgress()).toMatchObject({ pending: [] });
    expect((await bios.getProgress()).values.get('NumCores')).toBe('2');
  });

  test('a system without Bios says so', async () => {
    const { bios } = await rig({ noBios: true });
    await expect(bios.getSettings()).rejects.toMatchObject({ code: 'not_supported' });
  });
});

describe('where settings are written', () => {
  const gigabyte = {
    manufacturer: 'GIGABYTE',
    unlinkedSettings: true,
    requireIfMatch: true,
    paths: { '/redfish/v1/Systems/1/Bios/Settings': '/redfish/v1/Systems/1/Bios/SD' },
  };
  test.each<[string, Partial<Quirks>]>([
    ['at a well-known place', gigabyte],
    ['at one that can not be read', { ...gigabyte, unreadableBiosSettings: true }],
    ['at one of a maker nobody knows', { ...gigabyte, manufacturer: 'Nobody' }],
    ['in Bios, where the link leads to nothing', { noBiosSettings: true, deadSettingsLinks: true }],
  ])('%s', async (_, quirks) => {
    const { bios, power } = await rig(quirks);
    await bios.applySettings(cores);
    await power.setPowerState('power on');
    expect(await bios.getProgress()).toMatchObject({ pending: [], failures: [] });
    expect((await bios.getProgress()).values.get('NumCores')).toBe('2');
  });

  test.each(['GIGABYTE', 'Nobody'])('what waits at an unlinked place is known: %s', async (manufacturer) => {
    const { bios } = await rig({ ...gigabyte, manufacturer });
    await bios.applySettings(cores);
    expect((await bios.getProgress()).pending).toEqual(cores);
  });

  test('a refusal at the right place is not taken elsewhere', async () => {
    const { bios, simulator } = await rig({ biosRefuses: { NumCores: 'NumCores is locked by a policy.' } });
    await expect(bios.applySettings(cores)).rejects.toThrow('set BIOS settings NumCores');
    expect(simulator.requests.filter(({ method }) => method === 'PATCH')).toHaveLength(1);
  });
});

describe('what the registry says', () => {
  test.each([
    [
      'of a bound that another attribute changes',
      { MapToProperty: 'UpperBound' },
      { lower_bound: 1, upper_bound: null },
    ],
    ['of another property', { MapToProperty: 'GrayOut' }, { lower_bound: 1, upper_bound: 8 }],
    ['of another attribute', { MapToAttribute: 'BootMode', MapToProperty: 'UpperBound' }, { upper_bound: 8 }],
  ])('%s is known of this moment only', async (_, map, expected) => {
    const { bios, simulator } = await rig({});
    const Attributes = [{ AttributeName: 'NumCores', Type: 'Integer', LowerBound: 1, UpperBound: 8 }];
    const mapFrom = { MapFromAttribute: 'SysProfile', MapFromProperty: 'CurrentValue', MapFromCondition: 'EQU' };
    const Dependency = { MapFrom: [{ ...mapFrom, MapFromValue: 'Custom' }], MapToAttribute: 'NumCores', ...map };
    const Dependencies = [null, { DependencyFor: 'NumCores', Type: 'Map' }, { Dependency }];
    simulator.inject({
      path: /\.json$/,
      body: { Id: 'BiosAttributeRegistry.1.0.0', RegistryEntries: { Attributes, Dependencies } },
    });
    expect((await bios.getSettings()).find(({ name }) => name === 'NumCores')).toMatchObject(expected);
  });

  test('of values of which one can not be read is no list of them', async () => {
    const { bios, simulator } = await rig({});
    const Attributes = [
      { AttributeName: 'BootMode', Type: 'Enumeration', Value: [{ ValueName: 'Bios' }, { ValueName: 7 }] },
    ];
    simulator.inject({ path: /\.json$/, body: { Id: 'BiosAttributeRegistry.1.0.0', RegistryEntries: { Attributes } } });
    const setting = (await bios.getSettings()).find(({ name }) => name === 'BootMode');
    expect(setting).toMatchObject({ attribute_type: 'Enumeration', allowable_values: null });
  });

  test('of the type, where the present value has none', async () => {
    const { bios, simulator } = await rig({ nullAttributes: ['NumCores', 'Virtualization'] });
    await bios.applySettings([...cores, { name: 'Virtualization', value: 'False' }]);
    const patch = simulator.requests.findLast(({ method }) => method === 'PATCH');
    expect(JSON.parse(patch?.body ?? '')).toMatchObject({ Attributes: { NumCores: 2, Virtualization: false } });
  });

  test('of what is read only does not keep it from being sent', async () => {
    const { bios, power } = await rig({ biosFreedBy: { NumCores: ['SysProfile', 'Custom'] } });
    const both = [...cores, { name: 'SysProfile', value: 'Custom' }];
    await expect(bios.applySettings(cores)).rejects.toMatchObject({
      cause: { message: expect.stringMatching(/depends on other attributes/) as string },
    });
    await bios.applySettings(both);
    await power.setPowerState('power on');
    expect((await bios.getProgress()).values.get('NumCores')).toBe('2');
  });
});

describe('attributes at the top of Bios, as iLO 4 has them', () => {
  test('are read and written there', async () => {
    const { bios, power, simulator } = await rig({ flatBios: true });
    const names = (await bios.getSettings()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['NumCores', 'BootMode', 'SetupPassword']));
    expect(names).not.toEqual(expect.arrayContaining(['Type', 'Name', 'links', 'SettingsResult']));
    await bios.applySettings(cores);
    expect(simulator.requests.findLast(({ method }) => method === 'PATCH')).toMatchObject({
      path: '/redfish/v1/Systems/1/Bios/Settings',
      body: '{"NumCores":2}',
    });
    expect((await bios.getProgress()).pending).toEqual(cores);
    await power.setPowerState('power on');
    const { values, pending, failures } = await bios.getProgress();
    expect([values.get('NumCores'), pending, failures]).toEqual(['2', [], []]);
  });

  test('a failure is one by its id, without a severity', async () => {
    const { bios, power } = await rig({ flatBios: true, biosFailsAtReset: { NumCores: 'NumCores' } });
    await bios.applySettings(cores);
    await power.setPowerState('power on');
    expect(await bios.getProgress()).toMatchObject({
      pending: [],
      failures: ['Base.1.0:PropertyValueTypeError NumCores'],
    });
  });
});

describe('failures', () => {
  test("a refusal has the BMC's words", async () => {
    const { bios } = await rig({ biosRefuses: { NumCores: 'NumCores is locked by a policy.' } });
    const failure: unknown = await bios.applySettings(cores).catch((error: unknown) => error);
    expect(errorChain(failure)).toMatch(/^set BIOS settings NumCores at http.*answered 400: NumCores is locked/);
  });

  test('of a job that waits the message says how it is deleted', async () => {
    const { bios } = await rig({ oneBiosJob: true });
    await bios.applySettings(cores);
    const failure: unknown = await bios
      .applySettings([{ name: 'NumCores', value: '4' }])
      .catch((error: unknown) => error);
    expect(errorChain(failure)).toMatch(
      /clear_job_queue deletes it\): Pending configuration values are already committed/,
    );
  });

  test('what fails at the reset is told by the progress', async () => {
    const { bios, power } = await rig({ biosFailsAtReset: { NumCores: 'Too few cores.' } });
    await bios.applySettings(cores);
    await power.setPowerState('power on');
    expect(await bios.getProgress()).toMatchObject({ pending: [], failures: ['Too few cores.'] });
  });

  test('a task that has failed already is a failure', async () => {
    const { bios } = await rig({ tasks: true, failTasks: true, taskPolls: 0 });
    await expect(bios.applySettings(cores)).rejects.toThrow('set BIOS settings NumCores');
  });

  test('a password is written and never read back', async () => {
    const { bios, power } = await rig();
    await bios.applySettings([{ name: 'SetupPassword', value: 'open sesame' }]);
    await power.setPowerState('power on');
    const found = (await bios.getSettings()).find(({ name }) => name === 'SetupPassword');
    expect(found).toMatchObject({ attribute_type: 'Password', value: null });
  });

  test('a task that waits for the reset is not waited for', async () => {
    const { bios } = await rig({ tasks: true, taskPolls: 1000 });
    await bios.applySettings(cores);
    expect((await bios.getProgress()).pending).toEqual(cores);
  });
});

describe('settings that are taken and dropped', () => {
  const both = [...cores, { name: 'SysProfile', value: 'Custom' }];
  const failureOf = async (quirks: Partial<Quirks>, settings = both): Promise<string> => {
    const { bios } = await rig(quirks);
    return bios.applySettings(settings).then(
      () => 'none',
      (error: unknown) => errorChain(error),
    );
  };

  test.each<[string, Partial<Quirks>, string]>([
    ['that shows every setting', {}, 'NumCores: asked for 2, to come is 8'],
    ['that shows what waits', { biosListsWaiting: true }, 'NumCores: asked for 2, nothing is to come'],
  ])('are named by a BMC %s', async (_, quirks, words) => {
    expect(await failureOf({ ...quirks, biosDrops: ['NumCores'] })).toMatch(
      new RegExp(`^set BIOS settings NumCores, SysProfile at .*does not show it: ${words}$`),
    );
  });

  test.each<[string, Partial<Quirks>]>([
    ['shows nothing that waits', { biosListsWaiting: true, biosDrops: ['NumCores', 'SysProfile'] }],
    ['can not be read', { biosDrops: ['NumCores'], unreadableBiosSettings: true }],
    ['has a task at work', { biosDrops: ['NumCores'], tasks: true, taskPolls: 1000 }],
  ])('are not known where the place %s', async (_, quirks) => {
    expect(await failureOf(quirks)).toBe('none');
  });

  test('are seen once a task has ended, and late', async () => {
    expect(await failureOf({ biosDrops: ['NumCores'], tasks: true, taskPolls: 0 })).toContain('to come is 8');
    const { bios, simulator } = await rig();
    const body = { Attributes: { NumCores: 8, SysProfile: 'PerfPerWatt' } };
    simulator.inject({ method: 'GET', path: /Bios\/Settings$/, body, times: 3 });
    await bios.applySettings(both);
    expect(simulator.faultsLeft()).toBe(0);
  });

  test.each([404, 500, 503])('are not known where the place answers %i then', async (status) => {
    const { bios, simulator } = await rig({ biosDrops: ['NumCores'] });
    simulator.inject({ method: 'PATCH', path: /Settings$/, status: 204 });
    simulator.inject({ method: 'GET', path: /Bios\/Settings$/, body: { Attributes: {} }, times: 1 });
    simulator.inject({ method: 'GET', path: /Bios\/Settings$/, status, times: 5 });
    await expect(bios.applySettings(both)).resolves.toBeUndefined();
    expect(simulator.faultsLeft()).toBeLessThan(5);
  });

  test.each<[string, Record<string, string | number | boolean>, object, object]>([
    ['holds at once', { NumCores: 2 }, { NumCores: 2 }, { NumCores: 8 }],
    ['is written otherwise', { Size: 16, On: true }, { Size: 8, On: 'False' }, { Size: '0016', On: 'True' }],
    ['is a password', { SETUP001: 'secret', Other: 'secret' }, { SETUP001: '', Other: 'x' }, { Other: '****' }],
    ['is new', { Later: 'on' }, {}, { NumCores: 8 }],
  ])('are none of what %s', (_, asked, now, waiting) => {
    expect(listDropped(asked, { ...now }, { ...waiting })).toEqual([]);
  });
});

describe('settings that a web server says to have failed', () => {
  const change = [{ name: 'NumCores', value: '4' }];
  const asked = /Bios\/Settings$/;

  test.each([
    ['and has taken', { actsAs: 500 }, 1],
    ['and has refused since as taken already', { actsAs: 400 }, 1],
    ['of which the answer is lost, and then refused by one that takes one change', { dropAnswer: true }, 3],
    ['for a while', { status: 500, times: 2 }, 3],
  ])('%s', async (_how, fault, patches) => {
    const bmc = await rig({ oneBiosJob: true });
    bmc.simulator.inject({ method: 'PATCH', path: asked, ...fault });
    await bmc.bios.applySettings(change);
    expect((await bmc.bios.getProgress()).pending).toEqual(change);
    expect(bmc.simulator.requests.filter(({ method }) => method === 'PATCH')).toHaveLength(patches);
  });

  test('for good are an error', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'PATCH', path: asked, status: 500, times: 9 });
    await expect(bmc.bios.applySettings(change).catch(errorChain)).resolves.toContain('answered 500');
  });

  test('of a reset to their defaults', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'POST', path: /ResetBios$/, actsAs: 502 });
    await bmc.bios.factoryReset();
    expect((await bmc.bios.getProgress()).defaultsPending).toBe(true);
  });
});
