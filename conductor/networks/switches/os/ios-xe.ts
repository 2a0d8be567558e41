import { type FoundVlans, portVlans } from '#conductor/model/port-vlans.ts';
import {
  type ChannelWords,
  channelGroups,
  channelMembers,
} from '#conductor/networks/switches/command-line/channel-groups.ts';
import { describedIn, holdRows, portsGoingDown } from '#conductor/networks/switches/command-line/hold-ports.ts';
import {
  byKind,
  interfaceSections,
  numberAfter,
  spans,
  vlansInTable,
} from '#conductor/networks/switches/command-line/interface-sections.ts';
import { shell } from '#conductor/networks/switches/command-line/shell.ts';
import { shellForms } from '#conductor/networks/switches/command-line/shell-forms.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import {
  accessLines,
  isolateLines,
  trunkLines,
  trunkVlans,
} from '#conductor/networks/switches/command-line/switchport-lines.ts';

/** What LLDP's short names stand for: `Gi1/0/1` is `GigabitEthernet1/0/1`. */
const longNames: Readonly<Record<string, string>> = {
  Et: 'Ethernet',
  Fa: 'FastEthernet',
  Gi: 'GigabitEthernet',
  Tw: 'TwoGigabitEthernet',
  Fi: 'FiveGigabitEthernet',
  Te: 'TenGigabitEthernet',
  Twe: 'TwentyFiveGigE',
  Fo: 'FortyGigabitEthernet',
  Fif: 'FiftyGigE',
  Hu: 'HundredGigE',
  Fou: 'FourHundredGigE',
  FH: 'FourHundredGigE',
  Ap: 'AppGigabitEthernet',
  Po: 'Port-channel',
};

/** Letters of a short name; one that is not listed is no port's name. */
const longestShort = 4;

const isolate = (portIds: readonly string[]): string[] => ranges(portIds).flatMap(isolateLines);
const channels: ChannelWords = { name: (number) => `Port-channel${number}`, opens: ranges, isolate };

/** Cisco IOS-XE, and IOS: the mode of an access port is always in its configuration, VLAN 1 never. */
export const iosXe: SwitchOs = {
  name: 'ios-xe',
  transports: {
    ssh: shell(shellForms['ios-xe']),
  },
  portId: /^([A-Z][A-Za-z]+\d+(\/\d+){1,3}|Port-channel\d+)$/,
  portName: (name) =>
    name.replace(/^[A-Z][A-Za-z]+(?=\d)/, (kind) => longNames[kind] ?? (kind.length > longestShort ? kind : '?')),
  read: {
    commands: ['show running-config | section ^interface', 'show vlan brief'],
    parse: ([config = '', vlans = '']) => {
      const sections = [...interfaceSections(config)];
      return {
        ports: new Map(sections.map(([portId, lines]) => [portId, vlansOf(lines)])),
        // `switchport` makes an access port of VLAN 1 of a routed one
        goDown: portsGoingDown(sections, (_, lines) => lines.includes('no switchport') && !lines.includes('shutdown')),
        vlans: vlansInTable(vlans),
      };
    },
  },
  begin: ['configure terminal'],
  end: ['end'],
  isolate,
  hold: holdRows('isolation', { longest: 200 }, ranges),
  access: (portIds, vlan) => ranges(portIds).flatMap((range) => accessLines(range, vlan)),
  trunk: (portIds, vlans) => ranges(portIds).flatMap((range) => trunkLines(range, vlans)),
  bonds: { ...channelGroups(channels), members: ([config = '']) => channelMembers(config, channels) },
  createVlan: (vlan) => [`vlan ${vlan}`, `name baton-${vlan}`, 'exit'],
  removeVlan: {
    // with VTP the configuration has no VLANs, and `vlan configuration 100` is a tunnel's
    commands: ['show vlan brief', 'show running-config | section ^interface', 'show running-config | section ^vlan'],
    findOwn: ([table = '', ...configs]) => {
      const named = [...table.matchAll(/^(\d+)\s+baton-(\d+)\s/gm)].filter(([, vlan, name]) => vlan === name);
      const others = configs.join('\n').toLowerCase();
      return named
        .map(([, vlan]) => Number(vlan))
        .filter((vlan) => !new RegExp(`^(interface vlan|vlan configuration )${vlan}\\s*$`, 'm').test(others));
    },
    lines: (vlan) => [`no vlan ${vlan}`],
  },
  save: () => ['write memory'],
};

/** Five in a range are the most that IOS takes; a range is of one kind. */
const partsInRange = 5;

function ranges(portIds: readonly string[]): string[] {
  return byKind(portIds).flatMap((ids) => {
    const parts = spans(ids).map(({ first, last }) =>
      first === last ? first : `${first} - ${last.slice(last.lastIndexOf('/') + 1)}`,
    );
    return Array.from(
      { length: Math.ceil(parts.length / partsInRange) },
      (_, index) => `interface range ${parts.slice(index * partsInRange, (index + 1) * partsInRange).join(' , ')}`,
    );
  });
}

function vlansOf(lines: readonly string[]): FoundVlans {
  if (lines.includes('no switchport') || describedIn(lines).isDown) return 'other';
  if (lines.includes('switchport mode access')) return portVlans(numberAfter(lines, 'switchport access vlan') ?? 1);
  return lines.includes('switchport mode trunk') ? trunkVlans(lines) : 'other';
}
