import { afterAll, beforeAll, expect, test } from 'vitest';
import { portVlans } from '#conductor/model/port-vlans.ts';
import { type ApiAnswer, openTestApi, type TestApi } from '#test/support/test-api.ts';

/** A project's administrator may not reach others' machines, networks and BMCs through the project's own nodes. */

let api: TestApi;
let asProject: (method: string, path: string, body?: unknown) => Promise<ApiAnswer>;
let asOperator: typeof asProject;
let port = '';

beforeAll(async () => {
  api = await openTestApi({
    settings: { BATON_AUTH: 'token' },
    networks: {
      switches: [],
      networks: [
        { name: 'blue', vlans: portVlans(10), projects: ['ours'] },
        { name: 'red', vlans: portVlans(20), projects: ['theirs'] },
      ],
      defaults: undefined,
    },
  });
  const as = async (project: string | undefined): Promise<typeof asProject> => {
    const { token } = await api.context.auth.tokens.create({ name: project ?? 'operator', role: 'admin', project });
    return (method, path, body) => api.call(method, path, body, undefined, { Authorization: `Bearer ${token}` });
  };
  asProject = await as('ours');
  asOperator = await as(undefined);
  const login = { redfish_address: 'https://192.0.2.50', redfish_username: 'root', redfish_password: 'calvin' };
  const node = { name: 'mine', driver: 'redfish', owner: 'ours', network_interface: 'switchport', driver_info: login };
  const { uuid } = await asOperator('POST', '/v1/nodes', node);
  ({ uuid: port } = await asOperator('POST', '/v1/ports', { node_uuid: uuid, address: '52:54:00:00:00:01' }));
});
afterAll(() => api.close());

const add = (path: string, value: unknown) => [{ op: 'add', path, value }];
const claim = { switch_id: '00:11:22:33:44:55', port_id: 'Eth1/1' };

test('a kept password is not sent to another machine', async () => {
  const moved = add('/driver_info/redfish_address', 'https://198.51.100.1');
  for (const as of [asProject, asOperator]) {
    const { status, fault } = await as('PATCH', '/v1/nodes/mine', moved);
    expect([status, fault]).toEqual([400, expect.stringMatching(/write driver_info\/redfish_password again/)]);
  }
  const shown = add('/driver_info', { redfish_address: 'https://198.51.100.1', redfish_password: '******' });
  expect(await asProject('PATCH', '/v1/nodes/mine', shown)).toMatchObject({ status: 400 });
  const whole = [...moved, ...add('/driver_info/redfish_password', 'another')];
  expect(await asProject('PATCH', '/v1/nodes/mine', whole)).toMatchObject({ status: 200 });
});

test('networks are attached by whom they are for', async () => {
  expect(await asProject('POST', '/v1/nodes/mine/vifs', { id: 'red' })).toMatchObject({ status: 403 });
  expect(await asProject('POST', '/v1/nodes/mine/vifs', { id: 'blue' })).toMatchObject({ status: 204 });
});

test('switch ports are claimed by those without a project', async () => {
  for (const [path, value] of [
    ['/local_link_connection', claim],
    ['/physical_network', 'fabric'],
  ] as const) {
    expect(await asProject('PATCH', `/v1/ports/${port}`, add(path, value))).toMatchObject({
      status: 403,
      fault: expect.stringContaining(`baremetal:port:update:${path.slice(1)}`) as string,
    });
    expect(await asOperator('PATCH', `/v1/ports/${port}`, add(path, value))).toMatchObject({ status: 200 });
  }
  const { uuid } = await asProject('GET', '/v1/nodes/mine');
  const second = { node_uuid: uuid, address: '52:54:00:00:00:02' };
  expect(await asProject('POST', '/v1/ports', { ...second, local_link_connection: claim })).toMatchObject({
    status: 403,
  });
  const twin = { ...second, local_link_connection: { ...claim, port_id: 'eth1/1' } };
  expect(await asOperator('POST', '/v1/ports', twin)).toMatchObject({ status: 409 });
  const kept = add('/network_interface', 'noop');
  expect(await asProject('PATCH', '/v1/nodes/mine', kept)).toMatchObject({ status: 403 });
});

test("the character U+0000 is refused before the node's owner is read from the database", async () => {
  for (const path of ['/v1/nodes/%00', '/v1/nodes/%00/states', '/v1/ports?node=%00', '/v1/nodes?marker=%00']) {
    expect(await asProject('GET', path)).toMatchObject({ status: 400 });
  }
  expect(await asProject('POST', '/v1/ports', { node_uuid: '\0', address: '52:54:00:00:00:09' })).toMatchObject({
    status: 400,
  });
});
