import { allVlans, vlanList } from '#conductor/model/port-vlans.ts';
import { endOfInput, shell } from '#conductor/networks/switches/command-line/shell.ts';
import { shellForms } from '#conductor/networks/switches/command-line/shell-forms.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { junosNetconf } from '#conductor/networks/switches/netconf/junos-netconf.ts';
import { elsewhereCommand } from '#conductor/networks/switches/os/ports/junos-elsewhere.ts';
import { joined, readJunosPorts } from '#conductor/networks/switches/os/ports/junos-ports.ts';
import { isInRange, rangesIn } from '#conductor/networks/switches/os/ports/junos-ranges.ts';

/** Lines that a terminal takes at once for sure. */
const linesOfBlock = 64;

/** Both switches of a pair are one system to a node; of several bonds the number says which. */
const pairSystemId = '02:62:61:74:6f:6e';

/**
 * Juniper Junos with the Enhanced Layer 2 Software (`interface-mode`): an exclusive candidate, committed with a confirmation.
 * `commit confirmed` counts minutes. Somebody else's uncommitted changes refuse the lock, and stay.
 * `configure private` would not do: what others commit while it waits for its proof would confirm it.
 */
export const junos: SwitchOs = {
  name: 'junos',
  transports: {
    ssh: shell(shellForms.junos),
    netconf: junosNetconf,
  },
  portId: /^((ge|mge|xe|et)-\d+\/\d+\/\d+(:\d+)?|ae\d+)$/,
  // the port id in LLDP is a number of SNMP's, and the description names the port's unit, if not the port
  portName: (name) => name.replace(/\.0$/, ''),
  lldpNames: {
    commands: ['show interfaces | match "^Physical interface|SNMP ifIndex"'],
    parse: ([text = '']) => namesByIndex(text),
  },
  read: {
    commands: [
      'show interfaces terse',
      'show configuration interfaces | display inheritance no-comments | display set',
      'show configuration vlans | display inheritance no-comments | display set',
      'show configuration interfaces | display set',
      elsewhereCommand,
    ],
    parse: ([terse = '', inherited = '', vlans = '', written, elsewhere = '']) =>
      readJunosPorts({ terse, inherited, vlans, written, elsewhere }),
  },
  isolate: (portIds) => portIds.flatMap(withoutVlans),
  access: (portIds, vlan) =>
    portIds.flatMap((portId) => [
      ...withoutVlans(portId),
      `set interfaces ${portId} unit 0 family ethernet-switching interface-mode access`,
      `set interfaces ${portId} unit 0 family ethernet-switching vlan members ${vlan}`,
    ]),
  // the native VLAN is one of the members, too
  trunk: (portIds, vlans) =>
    portIds.flatMap((portId) => [
      ...withoutVlans(portId),
      ...(vlans.untagged === undefined ? [] : [`set interfaces ${portId} native-vlan-id ${vlans.untagged}`]),
      `set interfaces ${portId} unit 0 family ethernet-switching interface-mode trunk`,
      ...vlanList(allVlans(vlans))
        .split(',')
        .map((range) => `set interfaces ${portId} unit 0 family ethernet-switching vlan members ${range}`),
    ]),
  bonds: {
    name: (number) => `ae${number}`,
    modes: ['lacp', 'static'],
    pairs: ['lacp'],
    members: ([terse = '', inherited = '', , , elsewhere = '']) => {
      const config = joined(inherited, elsewhere, 'interfaces');
      const members = config.matchAll(/^set interfaces (\S+) (?:gig)?ether-options 802\.3ad (ae\d+)\s*$/gm);
      const lacp = new Map(
        [...config.matchAll(/^set interfaces (ae\d+) aggregated-ether-options lacp (active|passive)$/gm)].map((set) => [
          set[1],
          set[2] === 'active' ? ('lacp' as const) : ('other' as const),
        ]),
      );
      const paired = new Set([...config.matchAll(/^set interfaces (ae\d+) esi /gm)].map((set) => set[1]));
      const ports = [...terse.matchAll(/^(\w+-[\d/:]+)\s/gm)].map((match) => match[1] ?? '');
      const ranges = rangesIn(config);
      const byRange = ports.flatMap((portId) =>
        ranges
          .filter((range) => isInRange(range, portId))
          .flatMap(({ lines }) => lines)
          .flatMap((line) => {
            const name = /^(?:gig)?ether-options 802\.3ad (ae\d+)$/.exec(line)?.[1];
            return name === undefined ? [] : [['', portId, name] as const];
          }),
      );
      return new Map(
        [...byRange, ...members].map(([, portId = '', name = '']) => [
          portId,
          { name, mode: lacp.get(name) ?? 'static', acrossPair: paired.has(name) },
        ]),
      );
    },
    // a pair is one of EVPN: the node's own LACP identifies the segment, so that no two pairs of a fabric have the same
    make: ({ name, mode, acrossPair }) => [
      `delete interfaces ${name}`,
      `set interfaces ${name} aggregated-ether-options ${mode === 'lacp' ? 'lacp active' : 'minimum-links 1'}`,
      ...(acrossPair
        ? [
            `set interfaces ${name} aggregated-ether-options lacp system-id ${pairSystemId}`,
            `set interfaces ${name} esi auto-derive type-1-lacp`,
            `set interfaces ${name} esi all-active`,
          ]
        : []),
    ],
    // a member has no units
    join: (portIds, { name }) =>
      portIds.flatMap((portId) => [
        `delete interfaces ${portId} unit 0`,
        `set interfaces ${portId} ether-options 802.3ad ${name}`,
      ]),
    leave: (portIds) => portIds.map((portId) => `delete interfaces ${portId} ether-options 802.3ad`),
    remove: (name) => [`delete interfaces ${name}`],
  },
  joined: (lines) =>
    Array.from({ length: Math.ceil(lines.length / linesOfBlock) }, (_, index) =>
      ['load set terminal', ...lines.slice(index * linesOfBlock, (index + 1) * linesOfBlock), endOfInput].join('\n'),
    ),
  createVlan: (vlan) => [`set vlans baton-${vlan} vlan-id ${vlan}`],
  removeVlan: {
    commands: ['show configuration vlans | display set'],
    findOwn: ([config = '']) =>
      [...Map.groupBy(config.trim().split('\n'), (line) => /^set vlans baton-(\d+) /.exec(line)?.[1])].flatMap(
        ([vlan, lines]) => (lines.join() === `set vlans baton-${vlan} vlan-id ${vlan}` ? Number(vlan) : []),
      ),
    lines: (vlan) => [`delete vlans baton-${vlan}`],
  },
  transaction: {
    open: () => ['configure exclusive'],
    diff: () => ['show | compare'],
    commit: (name) => [`commit confirmed 2 comment ${name}`, 'exit configuration-mode'],
    confirm: () => ['configure exclusive', 'commit', 'exit configuration-mode'],
    abort: () => ['rollback 0', 'exit configuration-mode'],
    leftBehind: {
      command: 'show system commit',
      find: (output) =>
        [...output.matchAll(/rollback in[^\n]*\n\s*(baton-[0-9a-f]{8})\b/g)].map((match) => match[1] ?? ''),
      discard: () => ['configure exclusive', 'rollback 1', 'commit', 'exit configuration-mode'],
    },
  },
  save: () => [],
};

/** SNMP's numbers of ports, and of their units, which older versions send. */
function namesByIndex(text: string): Map<string, string> {
  const names = new Map<string, string>();
  let port = '';
  for (const line of text.split('\n')) {
    port = /^Physical interface: ([^\s,]+)/.exec(line)?.[1] ?? port;
    const index = /^\s+(?:Interface index: \d+,|Logical interface \S+ \(Index \d+\) \() ?SNMP ifIndex:? (\d+)/.exec(
      line,
    )?.[1];
    if (index !== undefined && port !== '') names.set(index, port);
  }
  return names;
}

function withoutVlans(portId: string): string[] {
  return [
    `delete interfaces ${portId} native-vlan-id`,
    `delete interfaces ${portId} unit 0 family ethernet-switching`,
    `delete switch-options voip interface ${portId}.0`,
  ];
}
