import { describe, expect, test } from 'vitest';
import { createRedfishClient } from '#conductor/drivers/redfish/client/client.ts';
import { parseRedfishDriverInfo } from '#conductor/drivers/redfish/client/driver-info.ts';
import { createRigs } from '#conductor/drivers/redfish/testing/rigs.ts';
import { systemClock } from '#shared/clock.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';

const { rig } = createRigs();

describe('what is not ready is asked again, whatever the method and the status', () => {
  test.each([
    ['iDRAC', 500, { MessageId: 'IDRAC.2.8.SYS518' }],
    ['iLO, for the state that the system is in', 400, { MessageId: 'iLO.2.22.InvalidOperationForSystemState' }],
    ['iLO 4, in its own spelling', 400, { MessageID: 'iLO.0.10.UnableToModifyDuringSystemPOST' }],
    ['a service that starts', 409, { MessageId: 'Base.1.8.ServiceTemporarilyUnavailable' }],
    ['AMI, while its host starts', 503, { MessageId: 'Ami.1.0.ServiceTemporarilyUnavailableDueToHostBooting' }],
  ])('%s', async (_maker, status, info) => {
    const bmc = await rig();
    const error = { code: 'Base.1.8.GeneralError', '@Message.ExtendedInfo': [info] };
    bmc.simulator.inject({ method: 'POST', path: /Reset$/, status, body: { error }, times: 2 });
    bmc.simulator.inject({ method: 'PATCH', path: /Systems\/1$/, status, body: { error }, times: 2 });
    await bmc.power.setPowerState('power on');
    await bmc.management.setBootDevice('pxe', { persistent: true });
    expect(bmc.machine.actions).toEqual(['on']);
    expect(await bmc.management.getBootDevice()).toEqual({ bootDevice: 'pxe', persistent: true });
  });

  test('a refusal that names something else is final', async () => {
    const bmc = await rig();
    const error = { code: 'Base.1.8.PropertyValueError', '@Message.ExtendedInfo': [] };
    bmc.simulator.inject({ method: 'POST', path: /Reset$/, status: 409, body: { error } });
    await expect(bmc.power.setPowerState('power on')).rejects.toMatchObject({ code: 'bmc_error' });
  });
});

describe('a session that the BMC has forgotten', () => {
  test.each([
    ['is forbidden', { status: 403 }],
    ['is refused by an answer that breaks off', { status: 401, cutBody: true }],
  ])('%s: one new login', async (_how, fault) => {
    const bmc = await rig();
    expect(await bmc.power.getPowerState()).toBe('power off');
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, ...fault });
    expect(await bmc.power.getPowerState()).toBe('power off');
    expect(bmc.simulator.counters.logins).toBe(2);
  });

  test('what stays forbidden is an error, and no session is left behind', async () => {
    const bmc = await rig();
    expect(await bmc.power.getPowerState()).toBe('power off');
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status: 403, times: 2 });
    await expect(bmc.power.getPowerState()).rejects.toThrow('answered 403');
    await expect.poll(() => bmc.simulator.sessionCount()).toBe(1);
  });

  test('the one of before is ended once the account has logged in otherwise, and not by a wrong password', async () => {
    const bmc = await rig();
    const connect = (more: object) =>
      bmc.type.connect({ redfish_address: bmc.simulator.address, redfish_username: 'admin', ...more }).power;
    expect(await bmc.power.getPowerState()).toBe('power off');
    await expect(connect({ redfish_password: 'another' }).getPowerState()).rejects.toThrow('answered 401');
    expect(bmc.simulator.counters).toMatchObject({ logins: 1, logouts: 0 });
    const other = { redfish_password: 'open sesame', redfish_verify_ca: false };
    expect(await connect(other).getPowerState()).toBe('power off');
    await expect.poll(() => bmc.simulator.sessionCount()).toBe(1);
    expect(bmc.simulator.counters).toMatchObject({ logins: 2, logouts: 1 });
  });
});

describe('a BMC that starts', () => {
  const page = '<html><body>Starting</body></html>';

  test.each([
    ['answers with pages', { body: page }],
    ['finds nothing', { status: 404, body: page }],
    ['is not there', { status: 503 }],
    ['fails', { status: 500 }],
  ])('%s: it is asked again', async (_how, fault) => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, ...fault, times: 4 });
    bmc.simulator.inject({ method: 'PATCH', path: /Systems\/1$/, ...fault, times: 1 });
    await bmc.management.setBootDevice('pxe', { persistent: true });
    expect(await bmc.management.getBootDevice()).toEqual({ bootDevice: 'pxe', persistent: true });
  });

  test('what stays so may pass once it has answered as a service, and is final before', async () => {
    const bmc = await rig();
    const failure = (): Promise<unknown> => bmc.power.getPowerState().catch((error: unknown) => error);
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status: 500, times: 5 });
    bmc.simulator.inject({ method: 'GET', path: /^\/redfish\/v1\/$/, body: page, times: 10 });
    expect(await failure()).toMatchObject({ code: 'bmc_error', retryable: false });
    bmc.simulator.clearFaults();
    await bmc.power.getPowerState();
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status: 500, times: 5 });
    expect(await failure()).toMatchObject({ code: 'bmc_error', retryable: true });
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, body: page, times: 5 });
    expect(await failure()).toMatchObject({ code: 'unavailable', retryable: true });
  });

  test('a login that was taken before is tried three times, and not for good: some lock an account', async () => {
    const bmc = await rig({ redfish: { retryMs: 1 } });
    const { signal } = new AbortController();
    await bmc.power.getPowerState({ signal });
    bmc.simulator.dropSessions();
    bmc.simulator.inject({ method: 'POST', path: /Sessions$/, status: 401, times: 1 });
    expect(await bmc.power.getPowerState({ signal })).toBe('power off');
    bmc.simulator.dropSessions();
    bmc.simulator.inject({ method: 'POST', path: /Sessions$/, status: 401, times: 2 });
    // the caller learns of it long before the third login, and tries again
    await expect(bmc.power.getPowerState({ signal })).rejects.toMatchObject({
      situation: 'bmc_login',
      retryable: true,
    });
    expect(await bmc.power.getPowerState({ signal })).toBe('power off');
    bmc.simulator.dropSessions();
    bmc.simulator.setAccount('admin', 'another');
    const logins = () => bmc.simulator.requests.filter(({ path }) => path.endsWith('/Sessions')).length;
    const before = logins();
    const refused = () => bmc.power.getPowerState({ signal }).catch((error: unknown) => error);
    expect(await refused()).toMatchObject({ situation: 'bmc_login', retryable: true });
    expect(await refused()).toMatchObject({ situation: 'bmc_login', retryable: false });
    expect(await refused()).toMatchObject({ situation: 'bmc_login', retryable: false });
    expect(logins() - before).toBe(4);
  });
});

test('a BMC without HTTP Basic whose sessions were all in use gets a session later', async () => {
  const bmc = await rig({ redfish: { retryMs: 1 } });
  bmc.simulator.inject({ method: 'POST', path: /Sessions$/, status: 503, times: 5 });
  expect(await bmc.power.getPowerState()).toBe('power off');
  bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status: 401 });
  expect(await bmc.power.getPowerState()).toBe('power off');
  expect(bmc.simulator.requests.at(-1)?.headers['x-auth-token']).toBeTypeOf('string');
});

describe('a BMC whose sessions are all in use', () => {
  const info = { MessageId: 'IDRAC.2.8.RAC0218', Message: 'The maximum number of user sessions is reached.' };
  const error = { code: 'Base.1.8.GeneralError', '@Message.ExtendedInfo': [info] };
  const full = { method: 'POST', path: /Sessions$/, status: 503, body: { error }, times: 99 };
  const room = 'all sessions of the BMC are in use: end some there';

  test('is asked by HTTP Basic', async () => {
    const bmc = await rig({ redfish: { retryMs: 1 } });
    bmc.simulator.inject(full);
    expect(await bmc.power.getPowerState()).toBe('power off');
  });

  test.each([
    ['that takes no other login', {}],
    ['that is to be asked by sessions alone', { redfish_auth_type: 'session' }],
  ])('%s: the error says so, and passes', async (_what, driverInfo) => {
    const bmc = await rig({ redfish: { retryMs: 1 }, driverInfo });
    bmc.simulator.inject(full);
    bmc.simulator.inject({ method: 'GET', path: /Systems/, status: 401, times: 99 });
    const failure: unknown = await bmc.power.getPowerState().catch((cause: unknown) => cause);
    expect(errorChain(failure)).toContain(room);
    expect(failure).toMatchObject({ code: 'unavailable', retryable: true });
  });

  test('a wrong password is still called that', async () => {
    const bmc = await rig({ redfish: { retryMs: 1 }, driverInfo: { redfish_password: 'another' } });
    const failure: unknown = await bmc.power.getPowerState().catch(errorChain);
    expect(failure).toContain('redfish_username or redfish_password is wrong');
    expect(failure).not.toContain('session');
  });
});

test('a session that others end makes room once no request needs it, and none is left behind', async () => {
  const bmc = await rig({ driverInfo: { redfish_auth_type: 'session' } });
  const connect = (more: object) => bmc.type.connect({ ...bmc.login, ...more });
  await bmc.power.getPowerState();
  // amid a call of many requests another client logs in to the account
  bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status: 503, headers: { 'retry-after': '0' }, times: 1 });
  const under = bmc.power.setPowerState('power on');
  await connect({ redfish_verify_ca: false }).power.getPowerState();
  await under;
  expect(bmc.machine.actions).toEqual(['on']);
  expect(bmc.simulator.requests.filter(({ headers }) => headers.authorization)).toEqual([]);
  await expect.poll(() => bmc.simulator.sessionCount()).toBe(1);
});

describe('compressed bodies', () => {
  test.each(['always', 'or 406'] as const)('%s', async (gzip) => {
    const bmc = await rig({ quirks: { gzip } });
    await bmc.power.setPowerState('power on');
    expect(await bmc.power.getPowerState()).toBe('power on');
    expect((await bmc.firmware?.getComponents())?.components.length).toBeGreaterThan(1);
  });

  test('of an encoding that nobody asked for', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ path: /Systems\/1$/, headers: { 'content-encoding': 'br' }, body: {} });
    await expect(bmc.power.getPowerState()).rejects.toThrow('Content-Encoding br');
  });

  test('that are no gzip', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ path: /Systems\/1$/, headers: { 'content-encoding': 'gzip' }, body: {}, times: 5 });
    await expect(bmc.power.getPowerState()).rejects.toMatchObject({ code: 'unavailable' });
  });
});

describe('links of a BMC behind NAT, which name its inner address', () => {
  test('lead to where it was asked', async () => {
    const bmc = await rig({ quirks: { linkBase: 'http://10.9.9.9', tasks: true } });
    await bmc.management.setBootDevice('pxe', { persistent: true });
    await bmc.power.setPowerState('power on');
    expect(bmc.machine.actions).toEqual(['on']);
    await bmc.type.close?.();
    expect(bmc.simulator.sessionCount()).toBe(0);
  });

  test('are not glued to its address in errors', async () => {
    const bmc = await rig({ quirks: { linkBase: 'http://10.9.9.9' } });
    bmc.simulator.inject({ method: 'POST', path: /Reset$/, status: 403, times: 2 });
    await expect(bmc.power.setPowerState('power on')).rejects.toThrow(
      `POST ${bmc.simulator.address}/redfish/v1/Systems/1/Actions/ComputerSystem.Reset answered 403`,
    );
  });
});

describe('a document that breaks off', () => {
  const half = '{"@odata.id": "/redfish/v1/Systems/1", "PowerSt';

  test('is asked for again', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, body: half, times: 2 });
    expect(await bmc.power.getPowerState()).toBe('power off');
  });

  test('is named as such', async () => {
    const bmc = await rig();
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, body: half, times: 5 });
    await expect(bmc.power.getPowerState()).rejects.toThrow('it is not JSON (truncated?)');
    bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, body: '<html>', times: 5 });
    await expect(bmc.power.getPowerState()).rejects.toThrow('it is text, not JSON');
  });
});

test('redirects without an end are an error', async () => {
  const bmc = await rig();
  const location = '/redfish/v1/Systems/1?again';
  bmc.simulator.inject({ method: 'GET', path: /Systems\/1$/, status: 307, headers: { location }, times: 99 });
  await expect(bmc.power.getPowerState()).rejects.toThrow('answered 307');
  expect(bmc.simulator.faultsLeft()).toBe(95);
});

test('a session is not ended while a request of it is under way', async () => {
  const bmc = await rig();
  const asleep = Promise.withResolvers<void>();
  const client = createRedfishClient(parseRedfishDriverInfo(bmc.login), {
    clock: { ...systemClock, sleep: () => asleep.promise },
    log: silentLog,
  });
  await client.request({ method: 'GET', path: '/redfish/v1/Systems' });
  bmc.simulator.inject({ method: 'GET', path: /Systems$/, status: 503 });
  const underWay = client.request({ method: 'GET', path: '/redfish/v1/Systems' });
  await expect.poll(() => bmc.simulator.faultsLeft()).toBe(0);
  await client.endSession();
  expect(bmc.simulator.sessionCount()).toBe(1);
  asleep.resolve();
  await underWay;
  await expect.poll(() => bmc.simulator.sessionCount()).toBe(0);
  expect(bmc.simulator.counters.logins).toBe(1);
  await client.close();
});

test("a redirect's query goes along", async () => {
  const bmc = await rig();
  const location = '/redfish/v1/Systems?slow=1';
  bmc.simulator.inject({ method: 'GET', path: /Systems$/, status: 307, headers: { location } });
  expect(await bmc.power.getPowerState()).toBe('power off');
  expect(bmc.simulator.requests.map(({ path, query }) => path + query)).toContain(location);
});
