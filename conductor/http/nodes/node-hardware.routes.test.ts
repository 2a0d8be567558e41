import { afterAll, beforeAll, expect, test } from 'vitest';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let bmc: RedfishSimulator;
beforeAll(async () => {
  api = await openTestApi();
  await api.reset();
  bmc = await startRedfishSimulator({ machine: createMemoryMachine(), username: 'admin', password: 'secret' });
  const driver_info = { redfish_address: bmc.address, redfish_username: 'admin', redfish_password: 'secret' };
  await api.call('POST', '/v1/nodes', { driver: 'redfish', name: 'n1', driver_info });
  await api.call('POST', '/v1/nodes', { driver: 'fake-hardware', name: 'fake' });
});
afterAll(async () => {
  await api.close();
  await bmc.close();
});

const get = async (path: string, version?: string) => {
  const { status, body } = await api.call('GET', `/v1/nodes/${path}`, undefined, version);
  return { status, body };
};
const lamps = 'n1/management/indicators';

test('sensors and the event log are read from the BMC', async () => {
  expect(await get('n1/sensors')).toMatchObject({
    status: 200,
    body: { sensors: expect.arrayContaining([expect.objectContaining({ name: 'Fan 1', value: 4200, unit: 'RPM' })]) },
  });
  expect((await get('n1/event_log?limit=1')).body).toEqual({
    event_log: [{ at: '2026-11-24T18:00:02.000Z', severity: 'critical', message: 'Power supply 1 lost its input.' }],
  });
  bmc.quirks.logPages = true;
  expect((await get('n1/event_log')).body).toMatchObject({
    event_log: [{ message: 'The chassis was opened.' }, { message: 'Power supply 1 lost its input.' }],
  });
  bmc.quirks.logPages = false;
  expect(await get('n1/event_log?limit=0')).toMatchObject({ status: 400 });
  expect(await get('fake/sensors')).toMatchObject({ status: 400 });
  expect(await get('fake/event_log')).toMatchObject({ status: 400 });
});

test('sensors that the BMC calls alike are numbered', async () => {
  const inlet = (ReadingCelsius: number) => ({ Name: 'Inlet Temp', ReadingCelsius });
  bmc.inject({ path: /Thermal/, body: { Temperatures: [inlet(20), inlet(90)], Fans: [] } });
  const { sensors } = (await get('n1/sensors')).body as { sensors: { name: string; value: number }[] };
  expect(sensors.slice(0, 2).map(({ name, value }) => [name, value])).toEqual([
    ['Inlet Temp', 20],
    ['Inlet Temp 2', 90],
  ]);
});

test('indicators, as Ironic has them', async () => {
  const { indicators } = (await get(lamps)).body as { indicators: unknown[] };
  expect(indicators[0]).toMatchObject({
    name: 'led@system',
    component: 'system',
    readonly: false,
    states: ['BLINKING', 'OFF', 'ON'],
  });
  expect((await get(`${lamps}/system`)).body).toEqual({ indicators: indicators.slice(0, 1) });
  expect((await get(`${lamps}/chassis`)).body).toEqual({ indicators: indicators.slice(1, 2) });
  expect((await get(`${lamps}/drive`)).body).toEqual({ indicators: indicators.slice(2) });
  expect((await get(`${lamps}/led@system`)).body).toEqual({ state: 'OFF' });
  const set = (indicator: string, state: string) => api.call('PUT', `/v1/nodes/${lamps}/${indicator}`, { state });
  expect(await set('led@system', 'blinking')).toMatchObject({ status: 204 });
  expect((await get(`${lamps}/led@system`)).body).toEqual({ state: 'BLINKING' });
  expect(await set('led@system', 'PINK')).toMatchObject({ status: 400 });
  expect(await set('Disk.Bay.1@drive', 'ON')).toMatchObject({ status: 204 });
  expect((await get(`${lamps}/Disk.Bay.1@drive`)).body).toEqual({ state: 'ON' });
  expect(await set('led@drive', 'ON')).toMatchObject({ status: 404 });
  expect(await get(`${lamps}/fan`)).toMatchObject({ status: 404 });
  expect(await get(`${lamps}/led@fan`)).toMatchObject({ status: 404 });
  expect(await get(lamps, '1.62')).toMatchObject({ status: 404 });
});

test("to switch a drive's lamp its drives are read once, and of two listings one waits", async () => {
  const drives = (from: number) =>
    bmc.requests.slice(from).filter(({ method, path }) => method === 'GET' && /Drives\/[^/]+$/.test(path));
  const { length } = bmc.requests;
  const { indicators } = (await get(`${lamps}/drive`)).body as { indicators: { name: string }[] };
  expect(drives(length)).toHaveLength(indicators.length);
  const before = bmc.requests.length;
  await api.call('PUT', `/v1/nodes/${lamps}/${indicators[0]?.name}`, { state: 'OFF' });
  expect(drives(before)).toHaveLength(indicators.length + 1);
  const then = bmc.requests.length;
  await Promise.all([get(`${lamps}/drive`), get(`${lamps}/drive`)]);
  const paths = drives(then).map(({ path }) => path);
  expect(paths.slice(indicators.length)).toEqual(paths.slice(0, indicators.length));
  expect(new Set(paths).size).toBe(indicators.length);
});

test('a switched indicator is in the history before the BMC is asked', async () => {
  bmc.inject({ method: 'PATCH', path: /Systems/, status: 400, times: 9 });
  expect((await api.call('PUT', `/v1/nodes/${lamps}/led@system`, { state: 'ON' })).status).toBeGreaterThanOrEqual(400);
  const { body } = await get('n1/history?detail=true');
  const events = (body['history'] as { event: string }[]).map(({ event }) => event);
  expect(events).toContain('indicator led@system is switched ON');
});
