import { z } from 'zod';
import { type FoundVlans, isolated, portVlans, readVlan } from '#conductor/model/port-vlans.ts';
import { type KnownWords, knownPorts } from '#conductor/networks/switches/command-line/lines/known-ports.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';
import type { SwitchSnapshot } from '#conductor/networks/switches/command-line/switch-os.ts';
import { familyRoutes, noIsolation } from '#conductor/networks/switches/os/ports/aos-cx-ports.ts';

/**
 * Reads ports of HPE Aruba AOS-CX from its REST API. Links are objects by name, or the paths themselves; none is an
 * empty list. Pure.
 */

export const Links = z.union([z.record(z.string(), z.unknown()), z.array(z.string()), z.string()]).nullish();
type Links = z.infer<typeof Links>;

export const Interfaces = z.record(
  z.string(),
  z.looseObject({
    routing: z.boolean().nullish(),
    vlan_mode: z.string().nullish(),
    vlan_tag: Links,
    vlan_trunks: Links,
    other_config: Links,
    interfaces: Links,
    lacp: z.string().nullish(),
  }),
);
type Port = z.infer<typeof Interfaces>[string];

/** Addresses and logins at ports have resources of their own: only their contents say whether there are any. */
const Below = z.record(z.string(), z.looseObject({ ip6_addresses: Links, port_access_auth_configurations: Links }));
/** A mirror that does not say where it sends frames may send them to any port. */
const Mirrors = z.record(z.string(), z.looseObject({ output_port: z.custom<Links>(isLinks) }));
const System = z.looseObject({ software_version: z.string().nullish() });

export const restReads = [
  // of all attributes: a switch refuses those that its version lacks
  'GET /system/interfaces?depth=2',
  'GET /system/vlans?depth=1',
  'GET /system/interfaces?depth=4&attributes=ip6_addresses,port_access_auth_configurations',
  'GET /system/mirrors?depth=2',
  'GET /system?attributes=software_version',
] as const;

/**
 * Attributes that no frame's network depends on, from a port's whole answer of 10.09 and HPE's modules for Ansible. Any other
 * that is not empty may put the port into a network, or let somebody do so. What is said here of login, MVRP, mirrors and VRRP
 * is of no effect while what switches them on is empty.
 */
const apart = new RegExp(
  `^(${[
    'acl(mac|v4|v6)?_\\w+',
    'active_ip_mtu|admin(_state)?|arp_(inspection|timeout)|asic_\\w+|bfd_\\w+|bond_\\w+|capabilities|capacities_status|ccm_state|cdp_\\w+',
    'clear_ip_bindings|client_ip_track_\\w+|coa_bounce|description|dhcp_relay_statistics|dhcpv[46]_snooping_\\w+',
    'dot1x_authenticator_statistics|duplex|dynamic_ip_mtu|egress_blocked_to_ports|error(_control)?|evpn_force_shutdown',
    'fault_monitor_\\w+|flaps_\\w+|flood_block|forwarding_state|hw_intf_info|icmp_\\w+|ifindex|interface_diag_tests',
    'ip6_(address_custom_link_local|autoconfigured_addresses)|ip_(directed_broadcast|mtu)|ipv[46]_source_lockdown_\\w+',
    'ipv6_(icmpv6_\\w+|nd_\\w+|neighbor_timeout|ra_counters)|l1_\\w+|l3_counters_\\w+|lacp(_\\w+)?|link_\\w+|lldp_\\w+',
    'loop_\\w+|mac(_auth_statistics|_in_use|_learn_disable|s_invalid\\w*)?|mdi_mode|mep_id|mgmd_\\w+|mstp_force_shutdown|mtu',
    'multicast_l3_neighbor_forwardings|mvrp_(forbidden_vlans|last_pdu_src_mac|registration|statistics|timers|vlans)',
    'name|nd_snooping_\\w+|num_clear_\\w+|options|origin|ospf(v3)?_\\w+|pause|pfc_\\w+|physical_interface_state|pim_\\w+',
    'pm_(info|state)|poe_interface|policy_\\w+|port_access_(allow_bpdu|auth_mode|clients(_limit)?|disable_(cdp|lldp)_auth)',
    'port_access_(qos_trust|reauthentication_\\w+|security_violation\\w*|stp_admin_edge)',
    'port_security\\w*|portfilter|q_profile|qos(_\\w+)?|queue_\\w+|rate_limits\\w*|rdisc_\\w+|selftest\\w*|sflow_\\w+',
    'software_update_force_shutdown|speed_downshift|split_\\w+|statistics|status|stp_\\w+|tunnel_endpoints|udld_\\w+',
    'urpf_check|user_config|virtual_ip[46]_routers|vlan_translation_hw_status|vrrpv[23]_\\w+|vsf_(force_shutdown|hw_state)',
    'vsf_peer_status|vsx_sync',
  ].join('|')})$`,
);

/** Attributes that `oddIn`, `vlansOf` and the caller weigh by what they say. */
const weighed = new Set([
  'routing',
  'vlan_mode',
  'vlan_tag',
  'vlan_trunks',
  // a mode without VLANs carries none
  'applied_vlan_mode',
  'applied_vlan_tag',
  'applied_vlan_trunks',
  'vrf',
  'ip6_addresses',
  'port_access_auth_configurations',
  'interfaces',
  'other_config',
  'type',
]);
const otherApart = /^(lldp_\w+|mclag_enabled|lacp-(time|port-\w+|fallback.*))$/;

const words: KnownWords = { networks: [], apart: [] };

export function readAosCxRest(outputs: readonly string[]): SwitchSnapshot {
  const [interfaces, vlans, below, mirrors, system] = outputs;
  const shown = Object.entries(parseAnswer(Interfaces, interfaces));
  const ports = Object.fromEntries(shown.map(([portId, port]) => [portId, asInEffect(port)]));
  const deep = parseAnswer(Below, below);
  const sessions = Object.entries(parseAnswer(Mirrors.nullable(), mirrors) ?? {});
  const canRoute = familyRoutes(parseAnswer(System.nullable(), system)?.software_version ?? undefined);
  const members = new Set(Object.entries(ports).flatMap(([name, port]) => (isLag(name) ? membersIn(port) : [])));
  const sections = Object.entries(ports).map(([portId, port]) => {
    const mirroring = sessions.filter(([, { output_port: ends }]) => namesIn(ends).includes(portId));
    return [
      portId,
      [...oddIn(port, portId, deep[portId]), ...mirroring.map(([session]) => `mirror ${session} output_port`)],
    ] as const;
  });
  return {
    // a member of a LAG is where that is, whatever stands at the member
    ...knownPorts(sections, words, (_, portId) => (members.has(portId) ? 'other' : vlansOf(ports[portId]))),
    // a routed one carries no VLAN of the switch
    carried: new Map(Object.entries(ports).flatMap(([portId, { routing }]) => (routing ? [[portId, []]] : []))),
    fixed: new Map(canRoute === false ? Object.keys(ports).map((portId) => [portId, noIsolation]) : []),
    vlans: vlansIn(parseAnswer(Links, vlans)),
  };
}

const isLag = (name: string): boolean => name.startsWith('lag');

export function membersIn({ interfaces }: Port): string[] {
  return namesIn(interfaces);
}

/** Lists the names that links lead to: `{"1/1/1": "/rest/v10.04/system/interfaces/1%2F1%2F1"}`, or the paths. */
export function namesIn(links: Links): string[] {
  if (typeof links === 'string' || Array.isArray(links))
    return [links].flat().map((path) => decodeURIComponent(path.slice(path.lastIndexOf('/') + 1)));
  return Object.keys(links ?? {});
}

function isLinks(value: unknown): boolean {
  return value !== undefined && Links.safeParse(value).success;
}

/** The VLANs of links; `undefined` where one is something else. */
function numbersIn(links: Links): number[] | undefined {
  const numbers = namesIn(links).map(readVlan);
  const known = numbers.filter((vlan) => vlan !== undefined);
  return known.length === numbers.length ? known : undefined;
}

/** Each switch has one at least. */
function vlansIn(links: Links): SwitchSnapshot['vlans'] {
  const vlans = numbersIn(links);
  return vlans && vlans.length > 0 ? new Set(vlans) : 'unknown';
}

/** `ip4_address "192.0.2.1/24"`: what `vlansOf` does not look at, and may put the port into a network. */
function oddIn(port: Port, portId: string, below: z.infer<typeof Below>[string] | undefined): string[] {
  const unknown = Object.entries(port).filter(([name]) => !weighed.has(name) && !apart.test(name));
  const others = Object.entries(asObject(port.other_config)).filter(([name]) => !otherApart.test(name));
  const attributes = [...unknown, ...others].filter(([, value]) => !isNone(value));
  const type = port['type'];
  const isPort = isNone(type) || type === 'system' || type === 'lag';
  const foreign = isLag(portId) ? [] : membersIn(port).filter((name) => name !== portId);
  const vrf = port['vrf'];
  const isDefault = isNone(vrf) || (Links.safeParse(vrf).success && namesIn(vrf as Links).join() === 'default');
  const logins = Object.entries(asObject(below?.port_access_auth_configurations)).filter(
    ([, login]) => asObject(login)['auth_enable'] !== false,
  );
  const addresses = below === undefined ? 'unknown' : below.ip6_addresses;
  return [
    ...attributes.map(([name, value]) => described(name, value)),
    ...(isPort ? [] : [described('type', type)]),
    ...foreign.map((name) => `interfaces ${name}`),
    ...(isDefault ? [] : [described('vrf', vrf)]),
    ...(isNone(addresses) ? [] : [described('ip6_addresses', addresses)]),
    ...(typeof below?.port_access_auth_configurations === 'string' ? ['port_access_auth_configurations'] : []),
    ...logins.map(([how]) => `port_access_auth_configurations ${how}`),
    ...oddInEffect(port),
  ];
}

/** A port that nobody has set says so, and is in the default VLAN, which is 1 always. */
function asInEffect(port: Port): Port {
  const { routing, vlan_mode: mode, vlan_tag: tag, vlan_trunks: trunks } = port;
  const applied = Links.safeParse(port['applied_vlan_tag']).data;
  const isUnset = routing === false && [mode, tag, trunks].every(isNone);
  const isDefault = port['applied_vlan_mode'] === 'access' && namesIn(applied).join() === '1';
  return isUnset && isDefault ? { ...port, vlan_mode: 'access', vlan_tag: applied } : port;
}

/** Lists what is in effect though the configuration has something else. */
function oddInEffect(port: Port): string[] {
  return (['vlan_tag', 'vlan_trunks'] as const).flatMap((name) => {
    const parsed = Links.safeParse(port[`applied_${name}`]);
    const applied = parsed.success ? namesIn(parsed.data) : ['unknown'];
    const set = port.routing === true ? [] : namesIn(port[name]);
    const odd = applied.filter((vlan) => !set.includes(vlan));
    return odd.length === 0 ? [] : [`applied_${name} ${odd.join()}`];
  });
}

const described = (name: string, value: unknown): string => `${name} ${JSON.stringify(value)}`;

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function isNone(value: unknown): boolean {
  if (value === undefined || value === null || value === false || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function vlansOf(port: Port | undefined): FoundVlans {
  if (!port) return 'other';
  const tags = numbersIn(port.vlan_tag);
  const trunks = numbersIn(port.vlan_trunks);
  if (!tags || !trunks) return 'other';
  const mode = port.vlan_mode ?? undefined;
  if (port.routing === true) return mode === undefined && tags.length + trunks.length === 0 ? isolated : 'other';
  const [tag, ...more] = tags;
  if (port.routing !== false || tag === undefined || more.length > 0) return 'other';
  if (mode === 'access') return trunks.length === 0 ? portVlans(tag) : 'other';
  // a trunk of none is one of all
  if (mode !== 'native-untagged' || trunks.length === 0) return 'other';
  return portVlans(trunks.includes(tag) ? tag : undefined, trunks);
}
