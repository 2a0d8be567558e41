import { z } from 'zod';
import { type FoundVlans, isolated, portVlans, readVlan, readVlans, vlanList } from '#conductor/model/port-vlans.ts';
import { type KnownWords, knownPorts, leavesOf } from '#conductor/networks/switches/command-line/known-ports.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/parse-answer.ts';
import { programs } from '#conductor/networks/switches/command-line/programs.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { nvue } from '#conductor/networks/switches/https/nvue.ts';
import { namesIn, perInterface } from '#conductor/networks/switches/os/cumulus-keys.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * NVIDIA Cumulus Linux 5 by NVUE: what is set is pending until `nv config apply`. A port of the bridge without settings
 * carries all its VLANs: an isolated one is in no bridge.
 */

const bridge = 'br_default';

const Tree = z.record(z.string(), z.unknown());
const Bond = z.looseObject({
  member: Tree.default({}),
  mode: z.string().default('lacp'),
  mlag: z.unknown().optional(),
});
const Config = z.array(
  z.looseObject({
    set: z
      .looseObject({
        interface: Tree.default({}),
        vrf: Tree.default({}),
        bridge: z
          .looseObject({ domain: z.record(z.string(), z.looseObject({ vlan: Tree.default({}) })).default({}) })
          .optional(),
      })
      .optional(),
  }),
);
const Interfaces = z.record(z.string(), z.looseObject({ bridge: z.unknown().optional() }).catch({}));

export const cumulus: SwitchOs = {
  name: 'cumulus',
  transports: { ssh: programs, https: nvue },
  portId: /^(swp\d+(s\d+)?|bond\d+)$/,
  read: {
    commands: ['nv show interface -o json', 'nv config show -o json'],
    parse: ([interfaces, config]) => {
      const set = parseAnswer(Config, config).flatMap((part) => part.set ?? []);
      if (set.length === 0) throw notByNvue;
      const settings = perInterface(set.map((part) => part.interface));
      const shown = parseAnswer(Interfaces, interfaces);
      const neighbours = new Set(set.flatMap((part) => neighboursIn(part.vrf)));
      const vlans = set.flatMap((part) => Object.keys(part.bridge?.domain[bridge]?.vlan ?? {})).map(readVlans);
      const sections = Object.keys(shown).map((portId) => {
        const lines = leavesOf(settings.get(portId) ?? {});
        // a subinterface of a name of its own
        const upper = [...settings].filter(([, its]) => its['base-interface'] === portId).map(([name]) => name);
        const live =
          lines.length === 0 || !lines.some((line) => line.startsWith('bridge ')) ? shown[portId]?.bridge : undefined;
        const more = [
          ...(neighbours.has(portId) ? [`router bgp neighbor ${portId}`] : []),
          ...upper.map((name) => `interface ${name}`),
          ...(live === undefined
            ? []
            : leavesOf(live)
                .filter((line) => line.startsWith('domain '))
                .map((line) => `in effect: bridge ${line}`)),
        ];
        return [portId, [...lines, ...more]] as const;
      });
      return {
        ...knownPorts(sections, words, (lines, portId) => vlansOf(lines, settings.get(portId)), [
          ...settings.keys(),
          ...Object.keys(shown),
        ]),
        vlans: vlans.includes(undefined) ? ('unknown' as const) : new Set(vlans.flatMap((its) => its ?? [])),
      };
    },
  },
  isolate: (portIds) => portIds.map((portId) => `nv unset interface ${portId} bridge`),
  access: (portIds, vlan) =>
    portIds.flatMap((portId) => [
      `nv unset interface ${portId} bridge`,
      `nv set interface ${portId} bridge domain ${bridge} access ${vlan}`,
    ]),
  trunk: (portIds, { untagged, tagged }) =>
    portIds.flatMap((portId) => [
      `nv unset interface ${portId} bridge`,
      `nv set interface ${portId} bridge domain ${bridge} untagged ${untagged ?? 'none'}`,
      `nv set interface ${portId} bridge domain ${bridge} vlan ${vlanList(tagged)}`,
    ]),
  bonds: {
    name: (number) => `bond${number}`,
    modes: ['lacp', 'static'],
    pairs: ['lacp', 'static'],
    members: ([, config]) => {
      const settings = perInterface(parseAnswer(Config, config).map((part) => part.set?.interface ?? {}));
      return new Map(
        [...settings].flatMap(([name, its]) => {
          if (its['bond'] === undefined) return [];
          const bond = Bond.parse(its['bond']);
          const mode = bond.mode === 'lacp' || bond.mode === 'static' ? bond.mode : 'other';
          const acrossPair = bond.mlag !== undefined;
          return Object.keys(bond.member)
            .flatMap(namesIn)
            .map((portId) => [portId, { name, mode, acrossPair }] as const);
        }),
      );
    },
    make: ({ name, number, mode, acrossPair }) => [
      `nv unset interface ${name}`,
      `nv set interface ${name} bond mode ${mode}`,
      ...(acrossPair ? [`nv set interface ${name} bond mlag id ${number}`] : []),
    ],
    join: (portIds, { name }) => portIds.map((portId) => `nv set interface ${name} bond member ${portId}`),
    leave: (portIds, name) => portIds.map((portId) => `nv unset interface ${name} bond member ${portId}`),
    remove: (name) => [`nv unset interface ${name}`],
  },
  createVlan: (vlan) => [`nv set bridge domain ${bridge} vlan ${vlan}`],
  // what an earlier, lost session left pending would be applied with it
  begin: ['nv config detach'],
  end: ['nv config apply -y'],
  joined: (lines) => [['set -e', ...lines].join('\n')],
  save: () => ['nv config save'],
};

const notByNvue = new AppError(
  'switch_error',
  'the switch has no configuration by NVUE: its ports may be in bridges of /etc/network/interfaces, which Baton does not read',
);

/** Of `leavesOf` an interface; a bridge of another name is none of Baton's. */
const words: KnownWords = {
  networks: [
    new RegExp(`^bridge domain ${bridge}( access \\d+| untagged (\\d+|none)| vlan [\\d,-]+)?$`),
    /^ip address [\da-fA-F.:/]+( .*)?$/,
  ],
  apart: [
    /^(type|description|qos|acl|ptp|lldp|sflow|telemetry|link|bond|storm-control|port-security|pluggable|synce)( |$)/,
    new RegExp(`^bridge domain ${bridge} (stp|learning) `),
    /^(ip|bridge)( address| domain)?$/,
    /^ip (ipv4|ipv6|neighbor-discovery|igmp) (enable off|forward off)$/,
  ],
};

/** Routed by BGP without an address. */
function neighboursIn(vrfs: Readonly<Record<string, unknown>>): string[] {
  const under = (tree: unknown, key: string): unknown => (tree as Record<string, unknown> | undefined)?.[key];
  return Object.values(vrfs).flatMap((vrf) => {
    const names = Object.keys(under(under(under(vrf, 'router'), 'bgp'), 'neighbor') ?? {});
    // addresses are neighbours, too
    return names.filter((name) => /^[a-z]/.test(name) && !name.includes(':')).flatMap(namesIn);
  });
}

const Domain = z.looseObject({
  access: z.number().optional(),
  untagged: z.union([z.number(), z.string()]).optional(),
  vlan: Tree.optional(),
});
const Bridged = z.looseObject({
  bridge: z.looseObject({ domain: z.record(z.string(), Domain).optional() }).optional(),
});

function vlansOf(lines: readonly string[], settings: unknown): FoundVlans {
  const parsed = Bridged.safeParse(settings ?? {});
  if (!parsed.success) return 'other';
  const domain = parsed.data.bridge?.domain?.[bridge];
  if (!domain) return lines.length === 0 ? isolated : 'other';
  const { access, untagged, vlan } = domain;
  if (access !== undefined) {
    const only = readVlan(access);
    return only === undefined || untagged !== undefined || vlan !== undefined ? 'other' : portVlans(only);
  }
  const tagged = readVlans(Object.keys(vlan ?? {}).join());
  // without settings it carries all of the bridge, and VLAN 1 untagged
  if (!tagged || untagged === undefined) return 'other';
  if (untagged === 'none') return portVlans(undefined, tagged);
  const native = readVlan(untagged);
  return native === undefined ? 'other' : portVlans(native, tagged);
}
