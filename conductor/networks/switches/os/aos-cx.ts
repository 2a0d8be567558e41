import { allVlans, type FoundVlans, isolated, portVlans, vlanList, vlansIn } from '#conductor/model/port-vlans.ts';
import { describedIn, holdRows, portsGoingDown } from '#conductor/networks/switches/command-line/hold-ports.ts';
import {
  interfaceSections,
  numberAfter,
  spans,
  vlansNamedAlone,
} from '#conductor/networks/switches/command-line/interface-sections.ts';
import { shell } from '#conductor/networks/switches/command-line/shell.ts';
import { shellForms } from '#conductor/networks/switches/command-line/shell-forms.ts';
import type { Membership, SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { restSession } from '#conductor/networks/switches/https/rest-session.ts';
import { aosCxBase, aosCxRest } from '#conductor/networks/switches/os/aos-cx-rest.ts';

/** HPE Aruba AOS-CX: a trunk of no VLANs is one of all, so an isolated port is one that is routed and has no address. */
export const aosCx: SwitchOs = {
  name: 'aos-cx',
  transports: {
    ssh: shell(shellForms['aos-cx']),
    https: restSession(aosCxBase),
  },
  rowsOver: { https: aosCxRest },
  portId: /^(\d+\/\d+\/\d+(:\d+)?|lag\d+)$/,
  read: {
    commands: ['show running-config', 'show interface brief'],
    parse: ([config = '', brief = '']) => {
      const sections = [...sectionsOf(config)];
      const enabled = enabledIn(brief);
      return {
        ports: new Map(sections.map(([portId, lines]) => [portId, vlansOf(lines)])),
        goDown: portsGoingDown(sections, (portId) => enabled.has(portId)),
        vlans: new Set([...config.matchAll(/^vlan ([\d,-]+)\s*$/gm)].flatMap((match) => vlansIn(match[1] ?? ''))),
      };
    },
  },
  begin: ['configure terminal'],
  end: ['end'],
  isolate: (portIds) => opens(portIds).flatMap((open) => [open, 'routing', 'exit']),
  // `no routing` makes an access port of VLAN 1
  hold: holdRows('join', { longest: 64 }, opens),
  access: (portIds, vlan) =>
    opens(portIds).flatMap((open) => [open, 'routing', 'no routing', `vlan access ${vlan}`, 'exit']),
  trunk: (portIds, vlans) =>
    opens(portIds).flatMap((open) => [
      open,
      'routing',
      'no routing',
      `vlan trunk native ${vlans.untagged ?? 1}`,
      `vlan trunk allowed ${vlanList(allVlans(vlans))}`,
      'exit',
    ]),
  bonds: {
    name: (number) => `lag${number}`,
    modes: ['lacp', 'static'],
    pairs: ['lacp', 'static'],
    members: ([config = '']) => membersOf(sectionsOf(config)),
    // a pair is one of VSX
    make: ({ name, mode, acrossPair }) => [
      `interface ${spaced(name)}${acrossPair ? ' multi-chassis' : ''}`,
      'no shutdown',
      mode === 'lacp' ? 'lacp mode active' : 'no lacp mode',
      'routing',
      'exit',
    ],
    join: (portIds, { number }) => portIds.flatMap((portId) => [`interface ${portId}`, `lag ${number}`, 'exit']),
    leave: (portIds, name) => portIds.flatMap((portId) => [`interface ${portId}`, `no ${spaced(name)}`, 'exit']),
    remove: (name) => [`no interface ${spaced(name)}`],
  },
  createVlan: (vlan) => [`vlan ${vlan}`, `name baton-${vlan}`, 'exit'],
  removeVlan: {
    commands: ['show running-config'],
    findOwn: ([config = '']) => {
      // of a tunnel: `interface vxlan 1`, `vni 100`, `vlan 100`
      const tunnels = new Set([...config.matchAll(/^\s+vlan (\d+)\s*$/gm)].map((match) => Number(match[1])));
      return vlansNamedAlone(config, (vlan) => `name baton-${vlan}`).filter((vlan) => !tunnels.has(vlan));
    },
    lines: (vlan) => [`no vlan ${vlan}`],
  },
  save: () => ['write memory'],
};

/** The configuration does not say on every model which ports are up. */
function enabledIn(brief: string): Set<string> {
  const rows = [...brief.matchAll(/^(\S+) .*\s(yes|no)\s+(?:up|down)\b/gm)];
  return new Set(rows.flatMap(([, portId = '', isEnabled]) => (isEnabled === 'yes' ? portId : [])));
}

/** A group that is shared with a pair is `lag 7 multi-chassis`. */
function sectionsOf(config: string): Map<string, readonly string[]> {
  return new Map(
    [...interfaceSections(config)].map(([name, lines]) =>
      name.endsWith(multiChassis) ? [name.slice(0, -multiChassis.length), [...lines, multiChassis]] : [name, lines],
    ),
  );
}
const multiChassis = 'multi-chassis';

function membersOf(sections: ReadonlyMap<string, readonly string[]>): Map<string, Membership> {
  const members = [...sections].flatMap(([portId, lines]) => {
    const number = numberAfter(lines, 'lag');
    if (number === undefined) return [];
    const bond = sections.get(`lag${number}`) ?? [];
    const lacp = bond.find((line) => line.startsWith('lacp mode '));
    const mode = lacp === undefined ? 'static' : lacp === 'lacp mode active' ? 'lacp' : 'other';
    return [[portId, { name: `lag${number}`, mode, acrossPair: bond.includes(multiChassis) }] as const];
  });
  return new Map(members);
}

function opens(portIds: readonly string[]): string[] {
  return spans(portIds).map(({ first, last }) => `interface ${spaced(first)}${first === last ? '' : `-${last}`}`);
}

/** A group is `lag 7` to its command line and `lag7` to LLDP. */
function spaced(portId: string): string {
  return portId.replace(/^lag/, 'lag ');
}

function vlansOf(lines: readonly string[]): FoundVlans {
  if (lines.some((line) => /^(ip|ipv6) address /.test(line) || line.startsWith('lag '))) return 'other';
  if (describedIn(lines).isDown) return 'other';
  if (!lines.includes('no routing')) return isolated;
  const access = numberAfter(lines, 'vlan access');
  if (!lines.some((line) => line.startsWith('vlan trunk '))) return access === undefined ? 'other' : portVlans(access);
  const allowed = lines.flatMap((line) => /^vlan trunk allowed ([\d,-]+)$/.exec(line)?.[1] ?? []).flatMap(vlansIn);
  // `native 100 tag` has no untagged VLAN, and is nothing that Baton sets
  if (allowed.length === 0 || lines.some((line) => /^vlan trunk native \d+ tag$/.test(line))) return 'other';
  const native = numberAfter(lines, 'vlan trunk native') ?? 1;
  return portVlans(allowed.includes(native) ? native : undefined, allowed);
}
