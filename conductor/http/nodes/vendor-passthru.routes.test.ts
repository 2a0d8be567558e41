import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createMemoryMachine } from '#test/simulators/redfish/machine.ts';
import { type RedfishSimulator, startRedfishSimulator } from '#test/simulators/redfish/simulator.ts';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
let simulator: RedfishSimulator;
let path: string;
beforeAll(async () => {
  api = await openTestApi();
});
beforeEach(async () => {
  await api.reset();
  await simulator?.close();
  simulator = await startRedfishSimulator({ machine: createMemoryMachine(), username: 'admin', password: 'secret' });
  path = `/v1/nodes/${await enrol('redfish', { name: 'n1' })}/vendor_passthru`;
});
afterAll(async () => {
  await simulator.close();
  await api.close();
});

async function enrol(driver: string, more: object): Promise<string> {
  const driver_info = {
    redfish_address: simulator.address,
    redfish_username: 'admin',
    redfish_password: 'secret',
  };
  const made = await api.call('POST', '/v1/nodes', { driver, driver_info, ...more });
  expect(made.fault).toBeUndefined();
  return made.uuid;
}

const wanted = { Destination: 'https://192.0.2.9/events', Context: 'any', HttpHeaders: [{ Authorization: 'hush' }] };
const made = { Id: '1', Context: 'any', Protocol: 'Redfish', Destination: wanted.Destination, EventTypes: ['Alert'] };

test("metal3's event subscriptions are made, shown and ended at the BMC", async () => {
  expect((await api.call('GET', `${path}/methods`)).body).toMatchObject({
    create_subscription: { async: false, http_methods: ['POST'] },
    delete_subscription: { http_methods: ['DELETE'] },
  });
  expect(await api.call('POST', `${path}?method=create_subscription`, wanted)).toMatchObject({
    status: 200,
    body: made,
  });
  expect((await api.call('GET', `${path}?method=get_subscription&id=1`)).body).toEqual(made);
  expect((await api.call('GET', `${path}?method=get_all_subscriptions`)).body).toMatchObject({
    'Members@odata.count': 1,
    Members: [{ '@odata.id': '/redfish/v1/EventService/Subscriptions/1' }],
  });
  expect((await api.call('DELETE', `${path}?method=delete_subscription`, { id: '1' })).status).toBe(204);
  expect((await api.call('DELETE', `${path}?method=delete_subscription`, { id: '1' })).status).toBe(404);
  const history = (await api.call('GET', path.replace('vendor_passthru', 'history?detail=true'))).body;
  expect(JSON.stringify(history)).toContain('event subscription 1 is created at the BMC');
  expect(JSON.stringify(history)).not.toMatch(/hush|192\.0\.2\.9/);
});

test.each([
  ['POST', '?method=create_subscription', {}, 'Destination'],
  ['POST', '?method=create_subscription', { Destination: 'ftp://a' }, 'must be an http:// or https:// URL'],
  ['POST', '?method=create_subscription', { ...wanted, EventTypes: 'Alert' }, 'EventTypes: must be a list'],
  ['POST', '?method=create_subscription', { ...wanted, EventTypes: ['Odd'] }, "'Odd' is not one of"],
  ['POST', '?method=create_subscription', { ...wanted, HttpHeaders: {} }, 'HttpHeaders: must be a list'],
  ['POST', '?method=delete_subscription', wanted, 'it is asked for by DELETE'],
  ['DELETE', '?method=delete_subscription', {}, 'id'],
  ['GET', '?method=get_subscription', undefined, 'Missing mandatory parameter: id'],
  ['GET', '?method=eject_vmedia', undefined, 'must be create_subscription, delete_subscription'],
  ['GET', '', undefined, 'method'],
] as const)('%s %s with %j is refused', async (method, query, body, fault) => {
  expect(await api.call(method, `${path}${query}`, body)).toMatchObject({
    status: 400,
    fault: expect.stringContaining(fault) as unknown,
  });
});

test('a node without the vendor interface has no methods', async () => {
  const uuid = await enrol('redfish', { vendor_interface: 'no-vendor' });
  expect((await api.call('GET', `/v1/nodes/${uuid}/vendor_passthru/methods`)).body).toEqual({});
  expect(await api.call('POST', `/v1/nodes/${uuid}/vendor_passthru?method=create_subscription`, wanted)).toMatchObject({
    status: 400,
    fault: expect.stringContaining("vendor_interface 'no-vendor'") as unknown,
  });
});
