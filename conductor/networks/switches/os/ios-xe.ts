import { holdRows, portsGoingDown } from '#conductor/networks/switches/command-line/hold-ports.ts';
import type { ChannelWords } from '#conductor/networks/switches/command-line/lines/channel-groups.ts';
import {
  byKind,
  interfaceSections,
  spans,
  vlansInTable,
} from '#conductor/networks/switches/command-line/lines/interface-sections.ts';
import { mirrorLines } from '#conductor/networks/switches/command-line/lines/port-lists.ts';
import { nativeIsTagged, tagsNative } from '#conductor/networks/switches/command-line/lines/switchport-lines.ts';
import { switchportRows } from '#conductor/networks/switches/command-line/lines/switchport-rows.ts';
import { shell } from '#conductor/networks/switches/command-line/shell.ts';
import { shellForms } from '#conductor/networks/switches/command-line/shell-forms.ts';
import type { ChangeRows, SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { vlansOfApps } from '#conductor/networks/switches/os/ports/ios-xe-apps.ts';
import {
  commandFor,
  configCommand,
  encapsulationLine,
  linesOfMonitors,
  readIosPorts,
  requireIosConfig,
  requireIosEnd,
  type ShownPort,
  shownPorts,
  voiceLine,
} from '#conductor/networks/switches/os/ports/ios-xe-ports.ts';

/** Long forms of LLDP's short names: `Gi1/0/1` is `GigabitEthernet1/0/1`. */
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

const words: Omit<ChannelWords, 'isolate'> = {
  name: (number) => `Port-channel${number}`,
  opens: ranges,
};
const hold = holdRows('isolation', { longest: 200 }, ranges);

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
    commands: [configCommand, 'show vlan brief', 'show interfaces switchport'],
    parse: ([config = '', vlans = '', switchports = '']) => {
      requireIosConfig(config);
      const sections = interfaceSections(config);
      const longName = (name: string): string => iosXe.portName?.(name) ?? name;
      const shown = shownPorts(switchports, longName);
      const sessions = linesOfMonitors(config);
      return {
        ...readIosPorts(sections, shown, tagsNative(config), (portId) => mirrorLines(sessions, portId, longName)),
        // `switchport` makes an access port of VLAN 1 of a routed one
        goDown: portsGoingDown(sections, (_, lines) => lines.includes('no switchport') && !lines.includes('shutdown')),
        ...(tagsNative(config) ? { untaggedRefused: nativeIsTagged } : {}),
        vlans: vlansInTable(vlans),
        rows: rowsFor(sections, shown),
      };
    },
  },
  begin: ['configure terminal'],
  end: ['end'],
  ...switchportRows(words),
  hold,
  createVlan: (vlan) => [`vlan ${vlan}`, `name baton-${vlan}`, 'exit'],
  removeVlan: {
    // with VTP the configuration has no VLANs, and `vlan configuration 100` is a tunnel's
    commands: ['show vlan brief', commandFor(['interface', 'vlan', 'app-hosting', 'end'])],
    findOwn: ([table = '', config = '']) => {
      requireIosEnd(config);
      const named = [...table.matchAll(/^(\d+)\s+baton-(\d+)\s/gm)].filter(([, vlan, name]) => vlan === name);
      const others = config.toLowerCase();
      const ofApps = vlansOfApps(config);
      return named
        .map(([, vlan]) => Number(vlan))
        .filter((vlan) => ofApps !== 'unknown' && !ofApps.has(vlan))
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

/**
 * Gives the rows of this switch. A port that is switched already is not made so, as a switch without routed ports refuses that
 * command as incomplete. A switch that knows ISL takes no trunk before its encapsulation is set: such a one has ports that
 * negotiate it, or lines about it. One that knows only 802.1Q does not know the command.
 */
function rowsFor(sections: ReadonlyMap<string, readonly string[]>, shown: ReadonlyMap<string, ShownPort>): ChangeRows {
  const all = [...sections.values()].flat();
  const hasChoice =
    all.some((line) => line.startsWith(encapsulationLine)) ||
    [...shown.values()].some(({ encapsulation: how }) => how !== undefined && how !== 'dot1q');
  const routes = all.some((line) => /^(no )?switchport$/.test(line));
  const rows = switchportRows(words, (portId) => ({
    isSwitched: isSwitched(portId),
    beforeMode: hasChoice ? [`${encapsulationLine} dot1q`] : [],
    away: sections.get(portId)?.some((line) => line.startsWith(voiceLine)) ? [`no ${voiceLine}`] : [],
  }));
  return { ...rows, hold };

  /** A bond that is not there yet is made as the ports of a switch are that has no word of routing. */
  function isSwitched(portId: string): boolean {
    const its = shown.get(portId);
    if (!its)
      return (
        shown.size > 0 && !sections.has(portId) && !routes && [...shown.values()].every(({ isSwitchport: is }) => is)
      );
    return its.isSwitchport && !(sections.get(portId) ?? []).some((line) => /^(no )?switchport$/.test(line));
  }
}
