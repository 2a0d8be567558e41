import { allVlans, vlanList } from '#conductor/model/port-vlans.ts';
import { holdRows, portsGoingDown } from '#conductor/networks/switches/command-line/hold-ports.ts';
import {
  interfaceSections,
  numberAfter,
  spans,
  vlansNamedAlone,
} from '#conductor/networks/switches/command-line/lines/interface-sections.ts';
import { shell } from '#conductor/networks/switches/command-line/shell.ts';
import { shellForms } from '#conductor/networks/switches/command-line/shell-forms.ts';
import type { Membership, SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { restSession } from '#conductor/networks/switches/https/rest-session.ts';
import { readAosCxPorts, shownPorts } from '#conductor/networks/switches/os/ports/aos-cx-ports.ts';
import { aosCxBase, aosCxRest } from '#conductor/networks/switches/os/ports/aos-cx-rest.ts';

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
      const sections = sectionsOf(config);
      const shown = shownPorts(brief);
      return {
        ...readAosCxPorts(config, sections, shown),
        goDown: portsGoingDown(sections, (portId) => shown.get(portId)?.isEnabled === true),
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
      `interface ${spaced(name)}${acrossPair ? ` multi-chassis${mode === 'static' ? ' static' : ''}` : ''}`,
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

/** A group that is shared with a pair is `lag 7 multi-chassis`, one without LACP `lag 7 multi-chassis static`. */
function sectionsOf(config: string): Map<string, readonly string[]> {
  return new Map(
    [...interfaceSections(config)].map(([head, lines]) => {
      const [, name = head, more] = /^(lag\d+)(\D.*)$/.exec(head) ?? [];
      return [name, more === undefined ? lines : [...lines, more.replace(/static$/, '') || more]];
    }),
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
