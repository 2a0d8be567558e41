import { expect, test } from 'vitest';
import { type FoundVlans, isolated, portVlans } from '#conductor/model/port-vlans.ts';
import { aosCxRest } from '#conductor/networks/switches/os/ports/aos-cx-rest.ts';
import {
  anything,
  assert,
  constantFrom,
  pre,
  property,
  stringMatching,
  tuple,
  uniqueArray,
} from '#test/fuzz/fast-check.ts';

const base = '/rest/v10.04/system';
const linkTo = (...vlans: number[]) => Object.fromEntries(vlans.map((vlan) => [vlan, `${base}/vlans/${vlan}`]));

/** A port of 10.09 as it is printed when nobody has set it: what is empty is a list, what is below it a path. */
const plain = {
  routing: true,
  vlan_mode: null,
  vlan_tag: null,
  vlan_trunks: [],
  applied_vlan_mode: null,
  applied_vlan_tag: null,
  applied_vlan_trunks: [],
  vlan_translations: {},
  vlans_per_protocol: {},
  vrf: { default: `${base}/vrfs/default` },
  ip4_address: null,
  ip4_address_secondary: [],
  ip6_addresses: `${base}/interfaces/1%2F1%2F1/ip6_addresses`,
  ip6_address_link_local: {},
  ipv6_address_autoconfig_enable: false,
  mvrp_enable: false,
  aaa_auth_precedence: {},
  port_access_vlan_tag: null,
  port_access_vlan_trunks: [],
  port_access_auth_configurations: `${base}/interfaces/1%2F1%2F1/port_access_auth_configurations`,
  interfaces: { '1/1/1': `${base}/interfaces/1%2F1%2F1` },
  lacp: null,
  other_config: { lldp_med_capability_disable: false },
};

/** Others that such a port prints, and that are not empty. */
const atRest = {
  acl_init_status: 'success',
  admin: 'down',
  admin_state: 'down',
  arp_inspection: { trust: false },
  arp_timeout: 1800,
  asic_config_state: { ready: false },
  bfd_detect_multiplier: -1,
  capabilities: ['cable_diagnostics', 'speed_downshift'],
  ccm_state: 'up',
  cdp_neighbors: `${base}/interfaces/1%2F1%2F1/cdp_neighbors`,
  client_ip_track_configuration: { admin_state: 'auto', client_limit: 128 },
  dhcpv4_snooping_configuration: { max_bindings: 8192, trusted: false },
  dhcpv6_snooping_configuration: { max_bindings: 8192, trusted: false },
  duplex: 'full',
  error: 'Administratively down',
  error_control: 'none',
  flaps_performed: 0,
  forwarding_state: { enablement: false, blocking_layer: 'ENABLEMENT' },
  hw_intf_info: { connector: 'RJ45', max_speed: '1000' },
  icmp_unreachable_ratelimit: 1000,
  ifindex: 1,
  interface_diag_tests: `${base}/interfaces/1%2F1%2F1/interface_diag_tests`,
  ip6_address_custom_link_local: `${base}/interfaces/1%2F1%2F1/ip6_address_custom_link_local`,
  ip6_autoconfigured_addresses: `${base}/interfaces/1%2F1%2F1/ip6_autoconfigured_addresses`,
  ip_mtu: 1500,
  ipv4_source_lockdown_hw_status: { hw_enabled: 'not-applicable' },
  ipv6_nd_ra_max_interval: 600,
  ipv6_nd_router_preference: 'medium',
  ipv6_neighbor_timeout: 1800,
  l1_current_state: 'inactive',
  l3_counters_enable: { rx: false, tx: false },
  link_partner_capabilities: { pause: 'none' },
  link_speed: 0,
  link_state: 'down',
  lldp_neighbors: `${base}/interfaces/1%2F1%2F1/lldp_neighbors`,
  loop_protect_stagger_count: 1,
  mac_in_use: '00:00:5e:00:53:01',
  mgmd_pgs: `${base}/interfaces/1%2F1%2F1/mgmd_pgs`,
  mtu: 1500,
  multicast_l3_neighbor_forwardings: `${base}/interfaces/1%2F1%2F1/multicast_l3_neighbor_forwardings`,
  mvrp_registration: 'normal',
  mvrp_timers: { join: 20, leave: 300 },
  mvrp_vlans: `${base}/interfaces/1%2F1%2F1/mvrp_vlans`,
  name: '1/1/1',
  nd_snooping_configuration: { max_bindings: 16384, trusted: false },
  options: { vxlan_dest_udp_port: '4789' },
  origin: 'built-in',
  ospf_bfd: 'default',
  ospf_intervals: { dead_interval: 40 },
  ospfv3_ipsec_ah: { ah_null: false },
  pause: 'none',
  physical_interface_state: 'ready',
  pim_mode: { ipv4: 'disabled', ipv6: 'disabled' },
  pim_neighbors: `${base}/interfaces/1%2F1%2F1/pim_neighbors`,
  pm_info: { formfactor: 'unknown' },
  pm_state: 'DEFAULT',
  poe_interface: `${base}/interfaces/1%2F1%2F1/poe_interface`,
  policy_init_status: 'success',
  port_access_auth_mode: 'client-mode',
  port_access_clients: `${base}/interfaces/1%2F1%2F1/port_access_clients`,
  port_access_clients_limit: 1,
  port_access_security_violation: { action: 'notify' },
  port_security: { client_limit: 1, enable: false },
  qos_status: { schedule_profile: 'factory-default' },
  queue_bandwidth_status: { 0: 1636800000 },
  rate_limits: { broadcast_units: 'kbps' },
  selftest: { status: 'skipped' },
  split_admin_status: 'none',
  status: { netdev_state: 'ready' },
  stp_config: { link_type: 'auto', port_priority: 128 },
  stp_status: { oper_link_type: 'point_to_point' },
  tunnel_endpoints: `${base}/interfaces/1%2F1%2F1/tunnel_endpoints`,
  type: 'system',
  udld_interval: 7000,
  urpf_check: 'disable',
  user_config: { admin: 'down' },
  virtual_ip4_routers: `${base}/interfaces/1%2F1%2F1/virtual_ip4_routers`,
  virtual_ip6_routers: `${base}/interfaces/1%2F1%2F1/virtual_ip6_routers`,
  vlan_translation_hw_status: 'not-configured',
  vsf_hw_state: 'disabled',
};
const switched = { ...plain, routing: false, vrf: null };
const access = { ...switched, vlan_mode: 'access', vlan_tag: linkTo(10), applied_vlan_tag: linkTo(10) };
const trunk = { ...switched, vlan_mode: 'native-untagged', vlan_tag: linkTo(10), vlan_trunks: linkTo(10, 20) };

interface Answers {
  readonly others?: object;
  readonly vlans?: unknown;
  readonly below?: object;
  readonly mirrors?: unknown;
  readonly system?: unknown;
}
const read = (port: object, { others, vlans = linkTo(1, 10), below, mirrors = {}, system = {} }: Answers = {}) =>
  aosCxRest.read.parse(
    [
      { '1/1/1': port, ...others },
      vlans,
      { '1/1/1': { ip6_addresses: {}, port_access_auth_configurations: {}, ...below } },
      mirrors,
      system,
    ].map((answer) => JSON.stringify(answer)),
  );

test.each<[string, object, FoundVlans]>([
  ['a routed port', plain, isolated],
  ['a routed port of no VRF', { ...plain, vrf: null }, isolated],
  ['an access port', access, portVlans(10)],
  ['an access port whose VLAN is a path', { ...access, vlan_tag: `${base}/vlans/10` }, portVlans(10)],
  ['a trunk', trunk, portVlans(10, [20])],
  ['a trunk whose VLANs are paths', { ...trunk, vlan_trunks: [`${base}/vlans/20`] }, portVlans(undefined, [20])],
  ['a trunk of all', { ...trunk, vlan_trunks: [] }, 'other'],
  ['a trunk with a strange VLAN', { ...trunk, vlan_trunks: { 20: '', 4095: '' } }, 'other'],
  ['a trunk with a word for a VLAN', { ...trunk, vlan_trunks: { 20: '', voice: '' } }, 'other'],
  ['two access VLANs', { ...access, vlan_tag: linkTo(10, 20) }, 'other'],
  ['an access port with a trunk’s VLANs', { ...access, vlan_trunks: linkTo(20) }, 'other'],
  ['nothing about routing', { ...plain, routing: null }, 'other'],
])('%s', (_, port, vlans) => {
  expect(read(port).ports.get('1/1/1')).toEqual(vlans);
});

test.each<[string, object, Answers]>([
  ['vlan_mode', { vlan_mode: 'access' }, {}],
  ['vlan_tag', { vlan_tag: linkTo(10) }, {}],
  ['a path for vlan_tag', { vlan_tag: `${base}/vlans/10` }, {}],
  ['vlan_trunks', { vlan_trunks: linkTo(10) }, {}],
  ['another vrf', { vrf: { blue: `${base}/vrfs/blue` } }, {}],
  ['another vrf as a path', { vrf: `${base}/vrfs/blue` }, {}],
  ['an address', { ip4_address: '192.0.2.1/24' }, {}],
  ['a second address', { ip4_address_secondary: ['192.0.2.1/24'] }, {}],
  ['an address from DHCP', { active_ip4_address: '192.0.2.1/24' }, {}],
  ['link-local addresses', { ipv6_address_linklocal_enable: true }, {}],
  ['an IPv6 address', {}, { below: { ip6_addresses: { '2001:db8::1/64': '' } } }],
  ['IPv6 addresses that were not shown', {}, { below: { ip6_addresses: `${base}/interfaces/x/ip6_addresses` } }],
  ['a translation', { vlan_translations: { 100: 7 } }, {}],
  ['a VLAN by protocol', { vlans_per_protocol: { ip: 7 } }, {}],
  ['MVRP', { mvrp_enable: true }, {}],
  ['802.1X', {}, { below: { port_access_auth_configurations: { dot1x: { auth_enable: true } } } }],
  ['802.1X that was not shown', {}, { below: { port_access_auth_configurations: { dot1x: `${base}/x` } } }],
  ['a role', { port_access_auth_role: { guest: '' } }, {}],
  ['a VLAN by login', { port_access_vlan_tag: linkTo(10) }, {}],
  ['a VLAN in effect', { applied_vlan_tag: linkTo(10) }, {}],
  ['tagged VLANs in effect', { applied_vlan_trunks: linkTo(10) }, {}],
  ['an attribute that nobody knows', { voice_vlan: linkTo(10) }, {}],
  ['a setting of other_config that nobody knows', { other_config: { 'voice-vlan': '10' } }, {}],
  ['dynamic trunks', { dyn_trunks: linkTo(10) }, {}],
  ['frames of another port', { egress_redirect_to_port: { '1/1/2': '' } }, {}],
  ['a type that nobody knows', { type: 'vlansubint' }, {}],
  ['members', { interfaces: { '1/1/1': '', '1/1/2': '' } }, {}],
  ['a subinterface', {}, { others: { '1/1/1.10': { ...plain, type: 'vlansubint' } } }],
  ['a LAG', {}, { others: { lag7: { ...plain, interfaces: { '1/1/1': '' } } } }],
  ['a LAG of its own word', { other_config: { 'lacp-aggregation-key': '7' } }, {}],
  ['a mirror', {}, { mirrors: { 1: { output_port: { '1/1/1': `${base}/interfaces/1%2F1%2F1` } } } }],
  ['a mirror by a path', {}, { mirrors: { 1: { output_port: [`${base}/interfaces/1%2F1%2F1`] } } }],
])('a routed port with %s is not isolated', (_, port, answers) => {
  expect(read({ ...plain, ...port }, answers).ports.get('1/1/1')).toBe('other');
});

test('what a port prints at rest changes nothing', () => {
  const { ports, unread } = read({ ...plain, ...atRest });
  expect([ports.get('1/1/1'), unread?.get('1/1/1')]).toEqual([isolated, undefined]);
  expect(read({ ...trunk, ...atRest, applied_vlan_trunks: linkTo(10, 20) }).ports.get('1/1/1')).toEqual(
    portVlans(10, [20]),
  );
});

test('no attribute that is not known, and not empty, is overlooked, wherever it stands', () => {
  const isNone = (value: unknown): boolean =>
    value === undefined ||
    value === null ||
    value === false ||
    value === '' ||
    (typeof value === 'object' && Object.keys(value).length === 0);
  const known = Object.entries(atRest);
  assert(
    property(
      stringMatching(/^(vlan|voice|network|bridge|evpn|x)_[a-z0-9]{1,9}$/),
      anything().map((value) => JSON.parse(JSON.stringify(value) ?? 'null') as unknown),
      tuple(uniqueArray(constantFrom(...known)), uniqueArray(constantFrom(...known))),
      constantFrom(plain, access, trunk),
      (name, value, [before, after], port) => {
        pre(!(name in port) && !(name in atRest));
        const { ports, unread } = read({
          ...Object.fromEntries(before),
          [name]: value,
          ...port,
          ...Object.fromEntries(after),
        });
        expect(ports.get('1/1/1') === 'other').toBe(!isNone(value));
        expect(unread?.get('1/1/1')).toEqual(isNone(value) ? undefined : [`${name} ${JSON.stringify(value)}`]);
      },
    ),
  );
});

test('what is not known is quoted', () => {
  const { unread } = read({ ...access, applied_vlan_tag: linkTo(20), ip4_address: '192.0.2.1/24' });
  expect(unread?.get('1/1/1')).toEqual(['ip4_address "192.0.2.1/24"', 'applied_vlan_tag 20']);
});

test('a login that is switched off, a mirror that sends elsewhere, and a model without mirrors change nothing', () => {
  const below = { port_access_auth_configurations: { dot1x: { auth_enable: false } } };
  expect(read(plain, { below }).ports.get('1/1/1')).toEqual(isolated);
  const mirrors = { 1: { output_port: { '1/1/2': '' } }, 2: { output_port: [] } };
  expect(read(plain, { mirrors }).ports.get('1/1/1')).toEqual(isolated);
  expect(read(plain, { mirrors: null }).ports.get('1/1/1')).toEqual(isolated);
});

test('a routed port with an address keeps no VLAN in use; one of a trunk of all may', () => {
  const routed = read({ ...plain, ip4_address: '192.0.2.1/24' });
  expect([routed.ports.get('1/1/1'), routed.carried?.get('1/1/1')]).toEqual(['other', []]);
  expect(read({ ...trunk, vlan_trunks: [] }).carried?.has('1/1/1')).toBe(false);
});

test('a mirror that does not say where it sends frames is refused', () => {
  expect(() => read(plain, { mirrors: { 1: { active: true } } })).toThrow(/is not what was asked for/);
  expect(() => read(plain, { mirrors: { 1: `${base}/mirrors/1` } })).toThrow(/is not what was asked for/);
});

test.each([
  [null, 'unknown'],
  [{}, 'unknown'],
  [[], 'unknown'],
  [{ 1: '', native: '' }, 'unknown'],
  [{ 1: '', 10: '' }, new Set([1, 10])],
])('VLANs %j are %j', (vlans, expected) => {
  expect(read(plain, { vlans }).vlans).toEqual(expected);
});

test.each([
  ['PL.10.08.0001', true],
  ['RL.10.09.0010', true],
  ['FL.10.13.1000', false],
  ['Virtual.10.13.1000', false],
  [null, false],
])('ports of version %s are fixed: %s', (version, isFixed) => {
  const { fixed } = read(access, { system: { software_version: version } });
  expect(fixed?.get('1/1/1')?.startsWith('AOS-CX on the 4100i, 6000 and 6100 routes at no port') ?? false).toBe(
    isFixed,
  );
});
