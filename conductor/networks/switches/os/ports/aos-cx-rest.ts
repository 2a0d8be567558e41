import { z } from 'zod';
import { allVlans, type PortVlans } from '#conductor/model/port-vlans.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';
import type { Membership, SwitchRows } from '#conductor/networks/switches/command-line/switch-os.ts';
import {
  Interfaces,
  Links,
  membersIn,
  namesIn,
  readAosCxRest,
  restReads,
} from '#conductor/networks/switches/os/ports/aos-cx-rest-ports.ts';

/** HPE Aruba AOS-CX by its REST API: a port is one request. Of the command line's rows it has the same states. */

export const aosCxBase = '/rest/v10.04';

const NamedVlans = z.record(z.string(), z.looseObject({ name: z.string().nullish() }));

export const aosCxRest: SwitchRows = {
  read: {
    commands: restReads,
    parse: readAosCxRest,
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
      const names = namesIn(parseAnswer(Links, interfaces));
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

function membersOf(ports: z.infer<typeof Interfaces>): Map<string, Membership> {
  return new Map(
    Object.entries(ports).flatMap(([name, port]) => {
      if (!name.startsWith('lag')) return [];
      const { lacp, other_config: config } = port;
      const mode = !lacp || lacp === 'off' ? 'static' : lacp === 'active' ? 'lacp' : 'other';
      const acrossPair = (config as Record<string, unknown> | null | undefined)?.['mclag_enabled'] === true;
      const bond: Membership = { name, mode, acrossPair };
      return membersIn(port).map((portId) => [portId, bond] as const);
    }),
  );
}
