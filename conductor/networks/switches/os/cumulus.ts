import { z } from 'zod';
import { type FoundVlans, isolated, portVlans, vlanList, vlansIn } from '#conductor/model/port-vlans.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/parse-answer.ts';
import { programs } from '#conductor/networks/switches/command-line/programs.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { nvue } from '#conductor/networks/switches/https/nvue.ts';

/**
 * NVIDIA Cumulus Linux 5 by NVUE: what is set is pending until `nv config apply`. A port of the bridge without settings
 * carries all its VLANs: an isolated one is in no bridge.
 */

const bridge = 'br_default';

const Domain = z.object({
  access: z.number().optional(),
  untagged: z.union([z.number(), z.string()]).optional(),
  vlan: z.record(z.string(), z.unknown()).optional(),
});
const Port = z.looseObject({
  bridge: z.object({ domain: z.record(z.string(), Domain).default({}) }).optional(),
  bond: z
    .object({
      member: z.record(z.string(), z.unknown()).default({}),
      mode: z.string().default('lacp'),
      mlag: z.unknown().optional(),
    })
    .optional(),
  ip: z.object({ address: z.record(z.string(), z.unknown()).default({}) }).optional(),
});
const Config = z.array(
  z.object({
    set: z
      .object({
        interface: z.record(z.string(), Port).default({}),
        bridge: z
          .object({
            domain: z.record(z.string(), z.looseObject({ vlan: z.record(z.string(), z.unknown()).default({}) })),
          })
          .optional(),
      })
      .optional(),
  }),
);
const Interfaces = z.record(z.string(), z.unknown());

export const cumulus: SwitchOs = {
  name: 'cumulus',
  transports: { ssh: programs, https: nvue },
  portId: /^(swp\d+(s\d+)?|bond\d+)$/,
  read: {
    commands: ['nv show interface -o json', 'nv config show -o json'],
    parse: ([interfaces, config]) => {
      const set = parseAnswer(Config, config).flatMap((part) => part.set ?? []);
      const settings = new Map(set.flatMap((part) => Object.entries(part.interface)));
      const names = Object.keys(parseAnswer(Interfaces, interfaces));
      const vlans = set.flatMap((part) => Object.keys(part.bridge?.domain[bridge]?.vlan ?? {}));
      return {
        ports: new Map(names.map((portId) => [portId, vlansOf(settings.get(portId))])),
        vlans: new Set(vlans.map(Number)),
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
      const interfaces = parseAnswer(Config, config).flatMap((part) => Object.entries(part.set?.interface ?? {}));
      return new Map(
        interfaces.flatMap(([name, { bond }]) => {
          const mode = bond?.mode === 'lacp' || bond?.mode === 'static' ? bond.mode : 'other';
          const acrossPair = bond?.mlag !== undefined;
          return Object.keys(bond?.member ?? {}).map((portId) => [portId, { name, mode, acrossPair }] as const);
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

function vlansOf(port: z.infer<typeof Port> | undefined): FoundVlans {
  const [first, ...more] = Object.entries(port?.bridge?.domain ?? {});
  if (!first) return Object.keys(port?.ip?.address ?? {}).length > 0 ? 'other' : isolated;
  const [name, { access, untagged, vlan }] = first;
  if (more.length > 0 || name !== bridge) return 'other';
  if (access !== undefined) return untagged === undefined && vlan === undefined ? portVlans(access) : 'other';
  const tagged = Object.keys(vlan ?? {}).flatMap(vlansIn);
  // without settings it carries all of the bridge, and VLAN 1 untagged
  if (tagged.length === 0 || untagged === undefined) return 'other';
  return portVlans(typeof untagged === 'number' ? untagged : undefined, tagged);
}
