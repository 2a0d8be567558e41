import { z } from 'zod';
import {
  allVlans,
  type FoundVlans,
  isolated,
  type PortVlans,
  portVlans,
  readVlan,
} from '#conductor/model/port-vlans.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/parse-answer.ts';
import type { Membership, SwitchRows } from '#conductor/networks/switches/command-line/switch-os.ts';

/** HPE Aruba AOS-CX by its REST API: a port is one request. Of the command line's rows it has the same states. */

export const aosCxBase = '/rest/v10.04';

const attributes = 'routing,vlan_mode,vlan_tag,vlan_trunks,ip4_address,ip6_addresses,other_config,interfaces,lacp';
const Links = z.record(z.string(), z.unknown()).nullish();
const NamedVlans = z.record(z.string(), z.looseObject({ name: z.string().nullish() }));
const Interfaces = z.record(
  z.string(),
  z.looseObject({
    routing: z.boolean().nullish(),
    vlan_mode: z.string().nullish(),
    vlan_tag: Links,
    vlan_trunks: Links,
    ip4_address: z.string().nullish(),
    ip6_addresses: Links,
    other_config: Links,
    interfaces: Links,
    lacp: z.string().nullish(),
  }),
);

export const aosCxRest: SwitchRows = {
  read: {
    commands: [`GET /system/interfaces?depth=2&attributes=${attributes}`, 'GET /system/vlans?depth=1'],
    parse: ([interfaces, vlans]) => ({
      ports: new Map(
        Object.entries(parseAnswer(Interfaces, interfaces)).map(([portId, port]) => [portId, vlansOf(port)]),
      ),
      vlans: new Set(numbers(parseAnswer(Links, vlans))),
    }),
  },
  isolate: (portIds) =>
    portIds.map((portId) => patch(portId, { routing: true, vlan_mode: null, vlan_tag: null, vlan_trunks: [] })),
  access: (portIds, vlan) =>
    portIds.map((portId) =>
      patch(portId, { routing: false, vlan_mode: 'access', vlan_tag: link(vlan), vlan_trunks: [] }),
    ),
  // a trunk of no VLANs is one of all
  trunk: (portIds, vlans) => portIds.map((portId) => patch(portId, trunkOf(vlans))),
  // its members are an attribute of the bond, and a pair is one of VSX
  bonds: {
    name: (number) => `lag${number}`,
    modes: ['lacp', 'static'],
    pairs: ['lacp', 'static'],
    members: ([interfaces]) => membersOf(parseAnswer(Interfaces, interfaces)),
    // whether it is shared with the pair is said when it is made
    make: ({ name, mode, acrossPair }) => [
      `DELETE ${placeOf(name)}`,
      `POST /system/interfaces ${JSON.stringify({
        name,
        type: 'lag',
        admin: 'up',
        vrf: `${aosCxBase}/system/vrfs/default`,
        routing: true,
        ...(mode === 'lacp' ? { lacp: 'active' } : {}),
        other_config: { mclag_enabled: acrossPair },
      })}`,
    ],
    join: (portIds, { name }) => [patch(name, { interfaces: portIds.map(uri) })],
    leave: (_, name, staying) => [patch(name, { interfaces: staying.map(uri) })],
    remove: (name) => [`DELETE ${placeOf(name)}`],
  },
  createVlan: (vlan) => [`POST /system/vlans ${JSON.stringify({ id: vlan, name: `baton-${vlan}`, type: 'static' })}`],
  removeVlan: {
    commands: ['GET /system/vlans?depth=2&attributes=id,name', 'GET /system/interfaces?depth=1'],
    findOwn: ([vlans, interfaces]) => {
      const names = Object.keys(parseAnswer(Links, interfaces) ?? {});
      return Object.entries(parseAnswer(NamedVlans, vlans)).flatMap(([vlan, { name }]) =>
        name === `baton-${vlan}` && !names.includes(`vlan${vlan}`) ? Number(vlan) : [],
      );
    },
    lines: (vlan) => [`DELETE /system/vlans/${vlan}`],
  },
  save: () => [`PUT /fullconfigs/startup-config?from=${aosCxBase}/fullconfigs/running-config`],
};

function trunkOf(vlans: PortVlans): Record<string, unknown> {
  return {
    routing: false,
    vlan_mode: 'native-untagged',
    vlan_tag: link(vlans.untagged ?? 1),
    vlan_trunks: allVlans(vlans).map(link),
  };
}

function patch(portId: string, settings: Readonly<Record<string, unknown>>): string {
  return `PATCH ${placeOf(portId)} ${JSON.stringify(settings)}`;
}

const placeOf = (portId: string): string => `/system/interfaces/${encodeURIComponent(portId)}`;
const uri = (portId: string): string => `${aosCxBase}${placeOf(portId)}`;

const link = (vlan: number): string => `${aosCxBase}/system/vlans/${vlan}`;
const numbers = (links: z.infer<typeof Links>): number[] =>
  Object.keys(links ?? {}).flatMap((vlan) => readVlan(vlan) ?? []);

function membersOf(ports: z.infer<typeof Interfaces>): Map<string, Membership> {
  return new Map(
    Object.entries(ports).flatMap(([name, { interfaces, lacp, other_config: config }]) => {
      if (!name.startsWith('lag')) return [];
      const mode = !lacp || lacp === 'off' ? 'static' : lacp === 'active' ? 'lacp' : 'other';
      const bond: Membership = { name, mode, acrossPair: config?.['mclag_enabled'] === true };
      return Object.keys(interfaces ?? {}).map((portId) => [portId, bond] as const);
    }),
  );
}

function vlansOf(port: z.infer<typeof Interfaces>[string]): FoundVlans {
  const hasAddress = Boolean(port.ip4_address) || Object.keys(port.ip6_addresses ?? {}).length > 0;
  if (hasAddress || port.other_config?.['lacp-aggregation-key'] !== undefined) return 'other';
  if (port.routing === true) return isolated;
  if (port.routing !== false) return 'other';
  const [tag, ...more] = numbers(port.vlan_tag);
  if (tag === undefined || more.length > 0) return 'other';
  if (port.vlan_mode === 'access') return portVlans(tag);
  const trunks = numbers(port.vlan_trunks);
  if (port.vlan_mode !== 'native-untagged' || trunks.length === 0) return 'other';
  return portVlans(trunks.includes(tag) ? tag : undefined, trunks);
}
