import { expect, test } from 'vitest';
import { createNodes } from '#conductor/cli/nodes/create-nodes.ts';
import { readNodeFile } from '#conductor/cli/nodes/node-file.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { AppError } from '#shared/errors/app-error.ts';

const nodes = readNodeFile(
  `
- name: n1
  driver: redfish
  driver_info: {redfish_address: 'https://192.0.2.1', redfish_password: secret}
  properties: {cpus: 8}
  automated_clean: 'false'
  traits: [CUSTOM_A, CUSTOM_B]
  portgroups: [{name: bond0}]
  ports: [{address: '52:54:00:00:00:01', portgroup: bond0}, {address: '52:54:00:00:00:02'}]
`,
  'nodes.yaml',
);

/** An API with what it has by path; everything else is 404, and what is sent is noted. */
function fakeApi(found: Readonly<Record<string, Json>>, refuse?: string) {
  const sent: unknown[] = [];
  const call = (method: string, path: string, body?: unknown): Promise<Json | undefined> => {
    if (method === 'GET') return Promise.resolve(found[path.split('?')[0] ?? '']);
    if (path === refuse) return Promise.reject(new AppError('conflict', 'the address is taken'));
    sent.push(body === undefined ? `${method} ${path}` : [`${method} ${path}`, body]);
    return Promise.resolve({ uuid: path === '/v1/nodes' ? 'u1' : 'g1' });
  };
  const create = (dryRun = false) =>
    createNodes({ call, download: () => Promise.reject(new Error('none')) }, nodes, {
      dryRun,
      onResult: () => undefined,
    });
  return { sent, create };
}

const port1 = ['POST /v1/ports', { address: '52:54:00:00:00:01', node_uuid: 'u1', portgroup_uuid: 'g1' }];
const port2 = ['POST /v1/ports', { address: '52:54:00:00:00:02', node_uuid: 'u1' }];

const existing = {
  uuid: 'u1',
  name: 'n1',
  driver: 'redfish',
  driver_info: { redfish_address: 'https://192.0.2.1', redfish_password: '******', more: 1 },
  properties: { cpus: '8', found: 'by inspection' },
  automated_clean: false,
  traits: ['CUSTOM_A', 'CUSTOM_B'],
};
const whole = {
  '/v1/nodes/n1': existing,
  '/v1/nodes/u1/ports': {
    ports: [
      { uuid: 'p1', address: '52:54:00:00:00:01' },
      { uuid: 'p2', address: '52:54:00:00:00:02' },
    ],
  },
  '/v1/nodes/u1/portgroups': { portgroups: [{ uuid: 'g1', name: 'bond0' }] },
};

test('a node that is not there is made with all that belongs to it', async () => {
  const { sent, create } = fakeApi({});
  const made = ['port group bond0', 'port 52:54:00:00:00:01', 'port 52:54:00:00:00:02'];
  const details = [...made, 'trait CUSTOM_A', 'trait CUSTOM_B'];
  expect(await create(true)).toEqual([{ name: 'n1', outcome: 'created', details }]);
  expect(sent).toEqual([]);
  expect(await create()).toEqual([{ name: 'n1', outcome: 'created', details }]);
  expect(sent).toEqual([
    ['POST /v1/nodes', nodes[0]?.fields],
    ['POST /v1/portgroups', { name: 'bond0', node_uuid: 'u1' }],
    port1,
    port2,
    'PUT /v1/nodes/u1/traits/CUSTOM_A',
    'PUT /v1/nodes/u1/traits/CUSTOM_B',
  ]);
});

test('a node that is as written is left alone; what the conductor knows beside it does not count', async () => {
  const { sent, create } = fakeApi(whole);
  expect(await create()).toEqual([{ name: 'n1', outcome: 'unchanged', details: [] }]);
  expect(sent).toEqual([]);
});

test('what a run that broke off has left out is added', async () => {
  const { sent, create } = fakeApi({
    ...whole,
    '/v1/nodes/n1': { ...existing, traits: ['CUSTOM_A'] },
    '/v1/nodes/u1/ports': { ports: [{ uuid: 'p1', address: '52:54:00:00:00:01' }] },
  });
  expect(await create()).toMatchObject([
    { outcome: 'completed', details: ['port 52:54:00:00:00:02', 'trait CUSTOM_B'] },
  ]);
  expect(sent).toEqual([port2, 'PUT /v1/nodes/u1/traits/CUSTOM_B']);
});

test('differences are told and left', async () => {
  const other = { ...existing, driver: 'ipmi', driver_info: { redfish_address: 'https://192.0.2.2' } };
  const { sent, create } = fakeApi({ ...whole, '/v1/nodes/n1': other });
  expect(await create()).toEqual([
    {
      name: 'n1',
      outcome: 'differs',
      details: ['driver', 'driver_info.redfish_address', 'driver_info.redfish_password'],
      isOtherMachine: true,
    },
  ]);
  expect(sent).toEqual([]);
});

test.each([
  ['BMC', { driver_info: { redfish_address: 'https://192.0.2.2' } }],
  ['driver', { driver: 'ipmi' }],
])('a node of another %s gets no ports and no traits', async (_, other) => {
  const { sent, create } = fakeApi({ '/v1/nodes/n1': { ...existing, traits: [], ...other } });
  expect(await create()).toMatchObject([{ outcome: 'differs', isOtherMachine: true }]);
  expect(sent).toEqual([]);
});

test('a failure says what was made before it', async () => {
  const { create } = fakeApi({}, '/v1/ports');
  expect(await create()).toEqual([
    { name: 'n1', outcome: 'failed', details: ['the address is taken', 'made: node, port group bond0'] },
  ]);
});
