import { expect, test } from 'vitest';
import { bringFleet } from '#conductor/cli/import/bring-fleet.ts';
import type { FleetNode } from '#conductor/cli/import/fleet.ts';
import { readCsv } from '#conductor/cli/import/read-csv.ts';
import { readMaas } from '#conductor/cli/import/read-maas.ts';
import { refuseConflicts } from '#conductor/cli/import/refuse-conflicts.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { systemClock } from '#shared/clock.ts';

const none = { nodes: [], ports: [] };
const refusals = (text: string, here: Parameters<typeof refuseConflicts>[1] = none): (string | undefined)[] =>
  refuseConflicts(readCsv(text, 'f'), here).nodes.map(({ refused }) => refused);

test('machines of MAAS with one host name in two domains keep two names', () => {
  const machine = (id: string, domain: string, more: object) => ({
    system_id: id,
    hostname: 'web1',
    fqdn: `web1.${domain}`,
    status_name: 'Ready',
    power_type: 'ipmi',
    ...more,
  });
  const text = JSON.stringify([machine('a', 'x', {}), machine('b', 'y', { status_name: 'Deployed' })]);
  expect(readMaas(text, undefined).nodes.map(({ name }) => name)).toEqual(['web1.x', 'web1.y']);
  const nameless = JSON.stringify([machine('a', 'x', { fqdn: undefined }), machine('b', 'y', { fqdn: undefined })]);
  const withoutPower = refuseConflicts(readMaas(text, undefined), none);
  expect(withoutPower.nodes.map(({ refused }) => refused)).toEqual([undefined, undefined]);
  const { nodes } = refuseConflicts(readMaas(nameless, undefined), none);
  expect(nodes.map(({ refused }) => refused)).toEqual([
    'the source has also another machine with this name',
    'the source has also another machine with this name',
  ]);
});

test.each([
  ['a name', 'name,address\nn1,192.0.2.1\nn1,192.0.2.2\n', 'another machine with this name'],
  ['a MAC address', 'name,mac\nn1,52:54:00:00:00:0A\nn2,52-54-00-00-00-0a\n', 'with MAC address 52:54:00:00:00:0a'],
  ['a BMC', 'name,address\nn1,https://192.0.2.1/\nn2,192.0.2.1:443\n', 'with BMC 192.0.2.1'],
  ['a BMC by two protocols', 'name,driver,address\nn1,ipmi,192.0.2.1\nn2,redfish,192.0.2.1\n', 'with BMC 192.0.2.1'],
  [
    'a BMC of which one names the system',
    'name,address,driver_info.redfish_system_id\nn1,h,/redfish/v1/Systems/1\nn2,h,\n',
    'with BMC h',
  ],
  ['a UUID', 'name,uuid\nn1,aaaaaaaa-0000-4000-8000-000000000001\nn2,AAAAAAAA-0000-4000-8000-000000000001\n', 'UUID'],
])('two that share %s are refused', (_, text, words) => {
  const [one, other] = refusals(text);
  expect(one).toContain(words);
  expect(other).toContain(words);
});

test('machines behind one BMC with systems of their own, or at other ports, are two', () => {
  expect(refusals('name,address,driver_info.redfish_system_id\nn1,h,/redfish/v1/Systems/1\nn2,h,Systems/2\n')).toEqual([
    undefined,
    undefined,
  ]);
  expect(refusals('name,driver,address,driver_info.ipmi_port\nn1,ipmi,h,6230\nn2,ipmi,h,6231\n')).toEqual([
    undefined,
    undefined,
  ]);
});

const found = {
  uuid: 'u1',
  name: 'web1',
  driver: 'redfish',
  driver_info: { redfish_address: 'https://192.0.2.1', redfish_system_id: '/redfish/v1/Systems/1' },
  provision_state: 'manageable',
  target_provision_state: null,
  reservation: null,
};
const here = { nodes: [found], ports: [{ uuid: 'p1', address: '52:54:00:00:00:01', node_uuid: 'u1' }] };

test.each([
  ['web1,redfish,192.0.2.2,', 'web1 in Baton is another machine: driver_info.redfish_address'],
  ['web1,ipmi,192.0.2.1,', 'web1 in Baton is another machine: driver, driver_info.ipmi_address'],
  ['web1,redfish,,', 'web1 in Baton is another machine: driver_info.redfish_address'],
  ['n2,redfish,192.0.2.1,', 'its BMC is that of web1 in Baton'],
  ['n2,redfish,192.0.2.2,52:54:00:00:00:01', 'MAC address 52:54:00:00:00:01 is of web1 in Baton'],
])('%s, which another node of Baton is, is refused', (row, words) => {
  expect(refusals(`name,driver,address,mac\n${row}\n`, here)[0]).toContain(words);
});

test('a node that Baton has as the source does is brought on', () => {
  expect(refusals('name,address,mac\nweb1,192.0.2.1,52:54:00:00:00:01\n', here)).toEqual([undefined]);
});

test('of a node that became another machine meanwhile nothing is changed', async () => {
  const sent: string[] = [];
  const call = (method: string, path: string): Promise<Json | undefined> => {
    if (method !== 'GET') sent.push(`${method} ${path}`);
    return Promise.resolve(path.startsWith('/v1/nodes/web1') ? found : {});
  };
  const node: FleetNode = {
    ...(readCsv('name,address,mac,adopt\nweb1,192.0.2.2,52:54:00:00:00:02,yes\n', 'f').nodes[0] as FleetNode),
    allocation: { uuid: 'a1' },
  };
  const [brought] = await bringFleet(
    { source: 'f', nodes: [node], left: [] },
    {
      client: { call, download: () => Promise.reject(new Error('none')) },
      clock: systemClock,
      onResult: () => undefined,
    },
  );
  expect(brought).toMatchObject({ outcome: 'differs', state: 'manageable' });
  expect(brought?.details.slice(0, 2)).toEqual(['it is another machine, and was left', 'driver_info.redfish_address']);
  expect(sent).toEqual([]);
});
