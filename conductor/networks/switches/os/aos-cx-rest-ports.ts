import { z } from 'zod';
import { type FoundVlans, isolated, portVlans, readVlan } from '#conductor/model/port-vlans.ts';
import { type KnownWords, knownPorts } from '#conductor/networks/switches/command-line/known-ports.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/parse-answer.ts';
import type { SwitchSnapshot } from '#conductor/networks/switches/command-line/switch-os.ts';
import { familyRoutes, noIsolation } from '#conductor/networks/switches/os/aos-cx-ports.ts';

/**
 * What ports of HPE Aruba AOS-CX are, from its REST API. Links are objects by name, or the paths themselves; none is an empty
 * list. Pure.
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

/** Attributes that put a port into a network, or let somebody do so, unless they are empty. */
const putsIntoNetwork = [
  'ip4_address',
  'ip4_address_secondary',
  'active_ip4_address',
  'ip6_address_link_local',
  'ipv6_address_autoconfig_enable',
  'ipv6_address_linklocal_enable',
  'vlans_per_protocol',
  'vlan_translations',
  'mvrp_enable',
  'aaa_auth_precedence',
  'device_profile',
  'applied_extended_access_vlans',
  'port_access_auth_role',
  'port_access_critical_auth_role',
  'port_access_extended_access_vlans',
  'port_access_fallback_role',
  'port_access_pre_auth_role',
  'port_access_reject_role',
  'port_access_vlan_mode',
  'port_access_vlan_tag',
  'port_access_vlan_trunks',
  'vsf_interface_status',
  'vsx_virtual_ip4',
  'vsx_virtual_ip6',
];

const words: KnownWords = { networks: [], apart: [] };

export function readAosCxRest(outputs: readonly string[]): SwitchSnapshot {
  const [interfaces, vlans, below, mirrors, system] = outputs;
  const ports = parseAnswer(Interfaces, interfaces);
  const deep = parseAnswer(Below, below);
  const sessions = Object.entries(parseAnswer(Mirrors.nullable(), mirrors) ?? {});
  const canRoute = familyRoutes(parseAnswer(System.nullable(), system)?.software_version ?? undefined);
  const members = new Set(Object.entries(ports).flatMap(([name, port]) => (isLag(name) ? membersIn(port) : [])));
  const sections = Object.entries(ports).map(([portId, port]) => {
    const mirroring = sessions.filter(([, { output_port: ends }]) => namesIn(ends).includes(portId));
    return [
      portId,
      [
        ...oddIn(port, deep[portId]),
        ...mirroring.map(([session]) => `mirror ${session} output_port`),
        ...(members.has(portId) ? ['interfaces of a LAG'] : []),
      ],
    ] as const;
  });
  return {
    ...knownPorts(sections, words, (_, portId) => vlansOf(ports[portId])),
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

/** Of links: `{"1/1/1": "/rest/v10.04/system/interfaces/1%2F1%2F1"}`, or the paths. */
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

/** `ip4_address "192.0.2.1/24"`: what `vlansOf` does not look at. */
function oddIn(port: Port, below: z.infer<typeof Below>[string] | undefined): string[] {
  const attributes = putsIntoNetwork.filter((name) => !isNone(port[name])).map((name) => described(name, port[name]));
  const vrf = port['vrf'];
  const isDefault = isNone(vrf) || (Links.safeParse(vrf).success && namesIn(vrf as Links).join() === 'default');
  const logins = Object.entries(asObject(below?.port_access_auth_configurations)).filter(
    ([, login]) => asObject(login)['auth_enable'] !== false,
  );
  const addresses = below === undefined ? 'unknown' : below.ip6_addresses;
  return [
    ...attributes,
    ...(isDefault ? [] : [described('vrf', vrf)]),
    ...(isNone(addresses) ? [] : [described('ip6_addresses', addresses)]),
    ...(typeof below?.port_access_auth_configurations === 'string' ? ['port_access_auth_configurations'] : []),
    ...logins.map(([how]) => `port_access_auth_configurations ${how}`),
    ...oddInEffect(port),
  ];
}

/** What is in effect though the configuration has something else. */
function oddInEffect(port: Port): string[] {
  const parsed = Links.safeParse(port['applied_vlan_tag']);
  const applied = parsed.success ? namesIn(parsed.data).join() : 'unknown';
  const set = port.routing === true ? '' : namesIn(port.vlan_tag).join();
  return applied === '' || applied === set ? [] : [`applied_vlan_tag ${applied}`];
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
  if (!port || asObject(port.other_config)['lacp-aggregation-key'] !== undefined) return 'other';
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
