import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '#test/support/test-api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi();
});
afterAll(() => api.close());

const redfish = (address: string, system?: string) => ({
  redfish_address: address,
  redfish_username: 'a',
  redfish_password: 'b',
  ...(system === undefined ? {} : { redfish_system_id: system }),
});
const nodes = {
  whole: ['redfish', redfish('https://192.0.2.1')],
  sameByCase: ['idrac', redfish('192.0.2.1/')],
  bladeA: ['redfish', redfish('192.0.2.2', '/redfish/v1/Systems/A')],
  bladeB: ['redfish', redfish('192.0.2.2', '/redfish/v1/Systems/B')],
  ipmi: ['ipmi', { ipmi_address: '192.0.2.3', ipmi_username: 'a', ipmi_password: 'b' }],
  otherPort: ['ipmi', { ipmi_address: '192.0.2.3', ipmi_port: 6230, ipmi_username: 'a', ipmi_password: 'b' }],
  ipmiAgain: ['ipmi', { ipmi_address: '192.0.2.3', ipmi_port: '623', ipmi_username: 'a', ipmi_password: 'b' }],
  fake: ['fake-hardware', {}],
  fakeToo: ['fake-hardware', {}],
  unfinished: ['redfish', {}],
  unfinishedToo: ['redfish', {}],
} as const;

const power = async (name: string) => {
  const { body } = await api.call('GET', `/v1/nodes/${name}/validate`);
  return body['power'] as { result: boolean; reason?: string };
};

test('nodes with one BMC and system are accepted, as by Ironic, and told where they are validated', async () => {
  for (const [name, [driver, info]] of Object.entries(nodes)) {
    expect((await api.call('POST', '/v1/nodes', { name, driver, driver_info: info })).status).toBe(201);
  }
  const why = (other: string) => ({
    result: true,
    reason: `${other} has the same BMC and system: each would deploy and wipe the same machine`,
  });
  expect(await power('whole')).toEqual(why('sameByCase'));
  expect(await power('sameByCase')).toEqual(why('whole'));
  expect(await power('ipmi')).toEqual(why('ipmiAgain'));
  for (const name of ['bladeA', 'bladeB', 'otherPort', 'fake']) expect(await power(name)).toEqual({ result: true });
  expect((await power('unfinished')).result).toBe(false);
  // who leases it reads no name of another project's node
  await api.call('PATCH', '/v1/nodes/whole', [{ op: 'add', path: '/lessee', value: 'p1' }]);
  expect(await power('whole')).toEqual(why('another node'));
});
