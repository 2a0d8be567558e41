import { describe, expect, test } from 'vitest';
import { firmwareBootContract } from '#conductor/drivers/firmware-boot.contract.ts';
import { managementContract } from '#conductor/drivers/management.contract.ts';
import { powerContract } from '#conductor/drivers/power.contract.ts';
import { createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Quirks } from '#test/simulators/redfish/faults.ts';

const { rig, open } = createRigs();

const variants: readonly (readonly [string, Partial<Quirks>])[] = [
  ['standard', {}],
  ['no ETags, no AllowableValues', { noEtag: true, noAllowableValues: true }],
  ['ActionInfo, ETags demanded', { actionInfo: true, requireIfMatch: true }],
  [
    'weak ETags, answers with bodies of odd type',
    { weakEtagOnly: true, answerWithBody: true, contentType: 'text/html' },
  ],
  ['rejects If-Match, no sessions', { rejectIfMatch: true, noSessions: true }],
  ['slow power, redirects', { slowPowerMs: 40, redirectSlash: true }],
  ['push button only', { resetTypes: ['PushPowerButton', 'ForceOff'] }],
];

for (const [name, quirks] of variants) {
  powerContract({ name: `redfish, ${name}`, make: () => rig({ quirks }) });
  managementContract({ name: `redfish, ${name}`, make: () => rig({ quirks }) });
}

describe('sessions', () => {
  test('one session serves all calls and is deleted at close', async () => {
    const bmc = await rig();
    await Promise.all([bmc.power.getPowerState(), bmc.management.getBootDevice(), bmc.power.setPowerState('power on')]);
    expect(bmc.simulator.counters.logins).toBe(1);
    await bmc.type.close?.();
    expect(bmc.simulator.counters.logouts).toBe(1);
    expect(bmc.simulator.sessionCount()).toBe(0);
  });

  test('a lost session is made again, once for all waiting calls', async () => {
    const bmc = await rig();
    await bmc.power.getPowerState();
    bmc.simulator.dropSessions();
    await Promise.all([bmc.power.getPowerState(), bmc.power.getPowerState()]);
    expect(bmc.simulator.counters.logins).toBeLessThanOrEqual(3);
    expect(await bmc.power.getPowerState()).toBe('power off');
  });

  test('wrong credentials fail without a second try', async () => {
    const bmc = await rig({ driverInfo: { redfish_password: 'wrong' } });
    const failure: unknown = await bmc.power.getPowerState().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'bmc_error', message: expect.stringMatching(/answered 401/) as string });
    expect(bmc.simulator.requests.filter((each) => each.method === 'POST')).toHaveLength(1);
  });

  test('basic sends credentials and makes no session', async () => {
    const bmc = await rig({ driverInfo: { redfish_auth_type: 'basic' } });
    expect(await bmc.power.getPowerState()).toBe('power off');
    expect(bmc.simulator.counters.logins).toBe(0);
  });

  test('session insists on one', async () => {
    const bmc = await rig({ driverInfo: { redfish_auth_type: 'session' }, quirks: { noSessions: true } });
    await expect(bmc.power.getPowerState()).rejects.toMatchObject({ code: 'not_supported' });
  });
});

test.each([
  [{ Health: 'OK' }, 'ok'],
  [{ Health: 'Warning' }, 'warning'],
  [{ Health: 'Critical' }, 'critical'],
  [{ Health: 'Fine' }, null],
  [{ Health: null }, null],
  [undefined, null],
])('the health of %j is %s, read with the power state', async (status, health) => {
  const bmc = await rig();
  const system = { '@odata.id': '/redfish/v1/Systems/1', Id: '1', PowerState: 'On', Status: status };
  await bmc.power.getPowerState();
  const before = bmc.simulator.requests.length;
  bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status: 200, body: system, times: 1 });
  expect(await bmc.power.getPowerAndHealth?.()).toEqual({ powerState: 'power on', health });
  expect(bmc.simulator.requests.length - before).toBe(1);
});

test('firmware names its network adapter, and the model of the BMC', async () => {
  const bmc = await rig();
  const adapter = '/redfish/v1/Chassis/1/NetworkAdapters/NIC.Slot.1';
  const card = { Id: 'NIC.Slot.1', Manufacturer: 'Acme', Model: 'E810', SerialNumber: 'S7' };
  bmc.simulator.inject({
    method: 'GET',
    path: /NetworkAdapters\/NIC\.Slot\.1$/,
    status: 200,
    body: { '@odata.id': adapter, ...card, Controllers: [{ FirmwarePackageVersion: '1.0.0' }] },
    times: 1,
  });
  const manager = { '@odata.id': '/redfish/v1/Managers/1', ManagerType: 'BMC', FirmwareVersion: '3.1', Model: 'BMC 9' };
  bmc.simulator.inject({ method: 'GET', path: /Managers\/1$/, status: 200, body: manager, times: 1 });
  const found = (await bmc.firmware?.getComponents())?.components;
  expect(found).toEqual(
    expect.arrayContaining([
      { component: 'bios', version: '1.0.0' },
      { component: 'bmc', version: '3.1', model: 'BMC 9' },
      { component: 'nic:NIC.Slot.1', version: '1.0.0', vendor: 'Acme', model: 'E810', serialNumber: 'S7' },
    ]),
  );
});

describe('faults', () => {
  test('503 is waited out as long as Retry-After says, for actions too', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ path: /Reset$/, status: 503, headers: { 'retry-after': '0' }, times: 2 });
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status: 503, times: 2 });
    await bmc.power.setPowerState('power on');
    expect(bmc.machine.actions).toEqual(['on']);
  });

  test('cut connections are tried again for reads', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, drop: true, times: 2 });
    expect(await bmc.power.getPowerState()).toBe('power off');
  });

  test('a BMC that stays away is unavailable', async () => {
    const bmc = await rig();
    await bmc.simulator.close();
    await expect(bmc.power.getPowerState()).rejects.toMatchObject({ code: 'unavailable' });
    open.delete(bmc);
  });

  test('an action whose answer was lost is confirmed by the power state, not sent again', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ path: /Reset$/, dropAnswer: true });
    await bmc.power.setPowerState('power on');
    expect(bmc.machine.actions).toEqual(['on']);
  });

  test.each([409, 500, 502])('an action that is answered %i and works nevertheless is done', async (status) => {
    const bmc = await rig();
    bmc.simulator.inject({ path: /Reset$/, actsAs: status });
    await bmc.power.setPowerState('power on');
    expect(bmc.machine.actions).toEqual(['on']);
  });

  test('the button of a machine that is on is not pressed, though the BMC refuses to power it on', async () => {
    const bmc = await rig({ quirks: { noAllowableValues: true } });
    bmc.simulator.inject({ path: /Reset$/, actsAs: 400 });
    await bmc.power.setPowerState('power on');
    expect(bmc.machine.actions).toEqual(['on']);
  });

  test.each([null, undefined])('nothing is sent to a machine whose PowerState is %s', async (PowerState) => {
    const bmc = await rig();
    const body = { '@odata.id': '/redfish/v1/Systems/1', PowerState, Boot: {} };
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, body, times: 100 });
    await expect(bmc.power.setPowerState('power off')).rejects.toThrow('it shows no power state');
    expect(bmc.simulator.requests.filter(({ path }) => path.endsWith('Reset'))).toEqual([]);
  });

  test('an action that the BMC took and forgot is sent once more', async () => {
    const bmc = await rig({ quirks: { ignoredPowerActions: 1 } });
    await bmc.power.setPowerState('power on');
    expect(await bmc.isOn()).toBe(true);
  });

  test('a power state that never comes is a timeout that names what was seen', async () => {
    const bmc = await rig({ quirks: { ignoredPowerActions: 100 } });
    await expect(bmc.power.setPowerState('power on', { timeoutMs: 2_000 })).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('power off') as string,
    });
  });

  test('a BMC that hangs is a timeout', async () => {
    const bmc = await rig();
    bmc.simulator.freeze();
    await expect(bmc.power.getPowerState({ timeoutMs: 100 })).rejects.toMatchObject({ code: 'timeout' });
    bmc.simulator.thaw();
    expect(await bmc.power.getPowerState()).toBe('power off');
  });

  test("the BMC's own words stand in the message", async () => {
    const bmc = await rig({ quirks: { resetTypes: ['Nmi'], noAllowableValues: true } });
    await expect(bmc.power.setPowerState('power on')).rejects.toThrow(/PushPowerButton is not supported/);
  });

  test('no fitting reset type is not_supported and lists the BMC has', async () => {
    const bmc = await rig({ quirks: { resetTypes: ['Nmi'] } });
    await expect(bmc.power.setPowerState('power on')).rejects.toMatchObject({
      code: 'not_supported',
      message: expect.stringContaining('Nmi') as string,
    });
  });

  test('nonsense instead of a system is named', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ path: /Systems\/1$/, body: 'garbage', times: 1 });
    await expect(bmc.power.getPowerState()).rejects.toMatchObject({ code: 'bmc_error' });
  });
});

firmwareBootContract({ name: 'redfish', make: () => rig() });

test('an interrupt goes out where the BMC has the reset type', async () => {
  const bmc = await rig({ quirks: { resetTypes: ['On', 'Nmi'] } });
  await bmc.management.injectNmi?.();
  expect(bmc.simulator.counters.nmis).toBe(1);
  const without = await rig();
  await expect(without.management.injectNmi?.()).rejects.toMatchObject({ code: 'not_supported' });
});

test('a BMC that refuses the boot mode is quoted', async () => {
  const bmc = await rig({ quirks: { rejectBootMode: true } });
  await expect(bmc.firmwareBoot?.setBootMode('bios')).rejects.toThrow(/set boot mode bios at/);
});

describe('boot override', () => {
  test('goes into the Settings resource where that holds it, and reads back from there', async () => {
    const bmc = await rig({ quirks: { bootViaSettings: true } });
    await bmc.management.setBootDevice('pxe', { persistent: false });
    expect(await bmc.management.getBootDevice()).toEqual({ bootDevice: 'pxe', persistent: false });
    expect(bmc.simulator.requests.findLast((each) => each.method === 'PATCH')?.path).toMatch(/Settings$/);
  });

  test('a refused mode is left out', async () => {
    const bmc = await rig({ quirks: { rejectBootMode: true } });
    await bmc.management.setBootDevice('pxe', { persistent: false, bootMode: 'bios' });
    expect(await bmc.management.getBootDevice()).toEqual({ bootDevice: 'pxe', persistent: false });
  });

  test('the mode is only sent when it changes', async () => {
    const bmc = await rig();
    await bmc.management.setBootDevice('pxe', { persistent: false, bootMode: 'uefi' });
    const patch = bmc.simulator.requests.findLast((each) => each.method === 'PATCH');
    expect(JSON.parse(patch?.body ?? '')).toEqual({
      Boot: { BootSourceOverrideTarget: 'Pxe', BootSourceOverrideEnabled: 'Once' },
    });
    expect(patch?.headers['if-match']).toMatch(/^"/);
  });

  test('tasks are followed to their end', async () => {
    const bmc = await rig({ quirks: { tasks: true, taskPolls: 1 } });
    await bmc.management.setBootDevice('disk', { persistent: true });
    expect(await bmc.management.getBootDevice()).toEqual({ bootDevice: 'disk', persistent: true });
  });

  test('a failed task fails the call', async () => {
    const bmc = await rig({ quirks: { tasks: true, taskPolls: 0, failTasks: true } });
    await expect(bmc.management.setBootDevice('disk', { persistent: true })).rejects.toMatchObject({
      code: 'bmc_error',
      cause: { message: expect.stringContaining('failed on purpose') as string },
    });
  });

  test('a changed resource (412) is read again and the PATCH repeated', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'PATCH', path: /Systems\/1$/, status: 412 });
    await bmc.management.setBootDevice('pxe', { persistent: false });
    expect(await bmc.management.getBootDevice()).toMatchObject({ bootDevice: 'pxe' });
  });
});

describe('redirects', () => {
  test('a last slash that the BMC insists on is added, for writes too', async () => {
    const bmc = await rig();
    const sessions = '/redfish/v1/SessionService/Sessions';
    bmc.simulator.inject({ method: 'POST', path: /Sessions$/, status: 308, headers: { location: `${sessions}/` } });
    expect(await bmc.power.getPowerState()).toBe('power off');
    expect(bmc.simulator.counters.logins).toBe(1);
  });

  test('credentials do not follow to another host', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ path: /Systems$/, status: 302, headers: { location: 'http://192.0.2.9/redfish' } });
    await expect(bmc.power.getPowerState()).rejects.toThrow(/redirects to http:\/\/192\.0\.2\.9/);
  });
});

test('a system by another name, which the BMC redirects, is read, written and reset', async () => {
  const bmc = await rig({
    quirks: { systemAlias: 'node-1', noAllowableValues: true },
    driverInfo: { redfish_system_id: '/redfish/v1/Systems/node-1' },
  });
  await bmc.management.setBootDevice('pxe', { persistent: true });
  expect(await bmc.management.getBootDevice()).toEqual({ bootDevice: 'pxe', persistent: true });
  await bmc.power.setPowerState('power on');
  expect(bmc.machine.actions).toEqual(['on']);
});

describe('what the BMC says', () => {
  const refused = async (error: object): Promise<string> => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status: 404, body: { error } });
    return errorChain(await bmc.power.getPowerState().catch((cause: unknown) => cause));
  };
  const id = 'Base.1.0.GeneralError';

  test('is the message of the error where extended information has none', async () => {
    const message = 'Fake system nope was not found';
    expect(await refused({ code: id, message, '@Message.ExtendedInfo': [{ MessageId: id }] })).toMatch(message);
  });

  test('is the id, with what it is about, where the message only points to it', async () => {
    const info = [{ MessageId: 'iLO.2.37.PropertyReadOnly', MessageArgs: ['BootSourceOverrideTarget'] }];
    const message = 'See @Message.ExtendedInfo for more information.';
    expect(await refused({ code: 'iLO.0.10.ExtendedInfo', message, '@Message.ExtendedInfo': info })).toMatch(
      /404: iLO\.2\.37\.PropertyReadOnly BootSourceOverrideTarget$/,
    );
  });

  test('that the machine is in POST: it is asked again', async () => {
    const bmc = await rig();
    const info = [{ MessageId: 'iLO.2.37.UnableToModifyDuringSystemPOST', MessageArgs: ['BootSourceOverrideTarget'] }];
    const error = { code: 'iLO.0.10.ExtendedInfo', '@Message.ExtendedInfo': info };
    bmc.simulator.inject({ method: 'PATCH', path: /Systems\/1$/, status: 400, body: { error }, times: 7 });
    await bmc.management.setBootDevice('pxe', { persistent: true });
    expect(await bmc.management.getBootDevice()).toEqual({ bootDevice: 'pxe', persistent: true });
  });
});

describe('systems', () => {
  test('a configured system is used as it is', async () => {
    const bmc = await rig({ driverInfo: { redfish_system_id: '/redfish/v1/Systems/9' } });
    await expect(bmc.power.getPowerState()).rejects.toThrow(/Systems\/9 answered 404/);
  });

  test('several systems need redfish_system_id', async () => {
    const bmc = await rig();
    bmc.simulator.inject({
      path: /Systems$/,
      body: { Members: [{ '@odata.id': '/redfish/v1/Systems/1' }, { '@odata.id': '/redfish/v1/Systems/2' }] },
    });
    await expect(bmc.power.getPowerState()).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('redfish_system_id') as string,
    });
  });
});
