import { expect, test } from 'vitest';
import { bindingOf } from '#conductor/networks/neutron/binding.ts';
import type { NeutronPort } from '#conductor/networks/neutron/neutron-client.ts';
import {
  describeDifferences,
  describePortChange,
  planBindings,
  portsOfChange,
  type WantedPort,
} from '#conductor/networks/neutron/plan-bindings.ts';
import { bonded, group, nodeUuid, port, twoPorts } from '#conductor/networks/neutron/testing/neutron-world.ts';

const first = port(1);
const binding = bindingOf(nodeUuid, [first], undefined);
const vif: WantedPort = { ...binding, ports: [first], of: { vif: 'blue' } };
const own: WantedPort = {
  ...binding,
  ports: [first],
  of: { network: { id: 'n1', name: 'clean-net' }, name: `baton cleaning ${first.address}` },
};

/** Makes a port as it is to be. */
const bound = (changes: Partial<NeutronPort> = {}): NeutronPort => ({
  id: 'blue',
  name: 'web',
  network_id: 'n2',
  mac_address: first.address,
  status: 'ACTIVE',
  admin_state_up: true,
  device_id: '',
  device_owner: '',
  'binding:vif_type': 'other',
  fixed_ips: [],
  ...binding.body,
  'binding:profile': { ...binding.body['binding:profile'] },
  ...changes,
});
const made = (changes: Partial<NeutronPort> = {}): NeutronPort =>
  bound({
    id: 'p1',
    name: 'baton cleaning x',
    network_id: 'n1',
    device_id: nodeUuid,
    device_owner: 'baremetal:none',
    ...changes,
  });

const differences = (wanted: readonly WantedPort[], known: readonly NeutronPort[]) =>
  planBindings(nodeUuid, wanted, known).flatMap(describeDifferences);
const sent = (wanted: readonly WantedPort[], known: readonly NeutronPort[]) =>
  planBindings(nodeUuid, wanted, known).flatMap(describePortChange);

test('what is bound as it is to be differs in nothing', () => {
  expect([differences([vif], [bound()]), sent([vif], [bound()])]).toEqual([[], []]);
  expect([differences([own], [made()]), sent([own], [made()])]).toEqual([[], []]);
  // upper case, and keys in another order
  const link = Object.fromEntries(Object.entries(first.localLinkConnection).toReversed());
  const same = { mac_address: first.address.toUpperCase(), 'binding:profile': { local_link_information: [link] } };
  expect(differences([vif], [bound(same)])).toEqual([]);
  // its owner's choice
  const disabled = { status: 'DOWN', admin_state_up: false };
  expect(differences([vif], [bound(disabled)])).toEqual([]);
});

test.each<[string, Partial<NeutronPort>]>([
  ['Neutron failed to bind it: binding_failed', { 'binding:vif_type': 'binding_failed', status: 'DOWN' }],
  ['is not bound', { 'binding:vif_type': 'unbound', 'binding:host_id': '', status: 'DOWN' }],
  [`has binding:host_id another, not ${nodeUuid}`, { 'binding:host_id': 'another' }],
  ['has binding:vnic_type normal, not baremetal', { 'binding:vnic_type': 'normal' }],
  [`has mac_address fa:16:3e:00:00:01, not ${first.address}`, { mac_address: 'fa:16:3e:00:00:01' }],
  [
    `has binding:profile {}, not {"local_link_information":[${JSON.stringify(first.localLinkConnection)}]}`,
    { 'binding:profile': {} },
  ],
  ['is DOWN, not ACTIVE', { status: 'DOWN' }],
])('a VIF that %s is let go of and bound again', (difference, changes) => {
  expect(differences([vif], [bound(changes)])).toEqual([`port blue ${difference}`]);
  expect(sent([vif], [bound(changes)])).toEqual([
    "port set blue --host '' --no-binding-profile",
    `port set blue --mac-address ${first.address} --host ${nodeUuid} --vnic-type baremetal --binding-profile ` +
      `'{"local_link_information":[${JSON.stringify(first.localLinkConnection)}]}'`,
  ]);
});

test('what is missing is told, what is left over goes first', () => {
  expect(differences([vif], [])).toEqual(['VIF blue is not bound to the node']);
  expect(differences([own], [])).toEqual(['network clean-net has no port for it']);
  expect(sent([own], [])).toEqual([
    expect.stringMatching(
      `^port create 'baton cleaning ${first.address}' --network clean-net --device ${nodeUuid} --device-owner baremetal:none `,
    ),
  ]);
  expect(differences([vif], [bound({ id: 'red' }), made()])).toEqual([
    'port p1 (baton cleaning x) is left over',
    'port red is still bound to the node',
    'VIF blue is not bound to the node',
  ]);
});

test('a change is told of the ports it is at, by address or by switch port; of the first where it is at none', () => {
  const at = (changes: Partial<NeutronPort>, ports = twoPorts) =>
    portsOfChange({ kind: 'unbind', port: bound(changes) }, ports).map(({ uuid }) => uuid);
  expect(at({ mac_address: '52:54:00:00:00:02', 'binding:profile': {} })).toEqual(['port-2']);
  const profile = { ...bindingOf(nodeUuid, bonded, group).body['binding:profile'] };
  expect(at({ mac_address: group.address, 'binding:profile': profile }, bonded)).toEqual(['port-1', 'port-2']);
  expect(at({ mac_address: 'fa:16:3e:00:00:01', 'binding:profile': { local_link_information: 'x' } })).toEqual([
    'port-1',
  ]);
  expect(at({}, [])).toEqual([]);
});
