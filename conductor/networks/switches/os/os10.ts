import { type FoundVlans, isolated, portVlans, readVlans, vlanList } from '#conductor/model/port-vlans.ts';
import { describedIn, holdRows, portsGoingDown } from '#conductor/networks/switches/command-line/hold-ports.ts';
import {
  type ChannelWords,
  channelGroups,
  channelMembers,
} from '#conductor/networks/switches/command-line/lines/channel-groups.ts';
import {
  interfaceSections,
  spans,
  vlanAfter,
  vlansInTable,
} from '#conductor/networks/switches/command-line/lines/interface-sections.ts';
import {
  carriedBy,
  type KnownWords,
  knownPorts,
  lineThatBegins,
} from '#conductor/networks/switches/command-line/lines/known-ports.ts';
import { linesNaming } from '#conductor/networks/switches/command-line/lines/named-elsewhere.ts';
import { switchportWords } from '#conductor/networks/switches/command-line/lines/switchport-words.ts';
import { shell } from '#conductor/networks/switches/command-line/shell.ts';
import { shellForms } from '#conductor/networks/switches/command-line/shell-forms.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';

const opens = (portIds: readonly string[]): string[] =>
  spans(portIds).map(({ first, last }) =>
    first === last
      ? `interface ${first}`
      : `interface range ${first.replace('ethernet', 'ethernet ')}-${last.replace('ethernet', '')}`,
  );
const isolate = (portIds: readonly string[]): string[] =>
  opens(portIds).flatMap((open) => [open, 'no switchport', 'exit']);
/** A pair is a VLT domain. */
const channels: ChannelWords = {
  name: (number) => `port-channel${number}`,
  opens,
  isolate,
  pair: (number) => `vlt-port-channel ${number}`,
};

/** Dell OS10: a trunk can't do without its native VLAN, so an isolated port is one that is routed and has no address. */
export const os10: SwitchOs = {
  name: 'os10',
  transports: { ssh: shell(shellForms.os10) },
  portId: /^(ethernet\d+\/\d+\/\d+(:\d+)?|port-channel\d+)$/,
  read: {
    // the second configuration is asked for what it says beside interfaces
    commands: ['show running-configuration interface', 'show vlan', 'show running-configuration'],
    parse: ([config = '', vlans = '', whole = '']) => ({
      ...knownPorts(withUses(sectionsOf(config), whole, vlans), words, vlansOf),
      carried: carriedBy(sectionsOf(config), (lines) =>
        lines.includes('no switchport') && lines.every((line) => !line.startsWith('channel-group')) ? [] : undefined,
      ),
      goDown: portsGoingDown(sectionsOf(config), (_, lines) => !lines.includes('shutdown')),
      vlans: vlansInTable(vlans),
    }),
  },
  begin: ['configure terminal'],
  end: ['end'],
  isolate,
  // `switchport mode` makes an access port of VLAN 1, or a trunk in it
  hold: holdRows('join', { longest: 240, isQuoted: true }, opens),
  access: (portIds, vlan) =>
    opens(portIds).flatMap((open) => [
      open,
      'no switchport',
      'switchport mode access',
      `switchport access vlan ${vlan}`,
      'exit',
    ]),
  trunk: (portIds, { untagged, tagged }) =>
    opens(portIds).flatMap((open) => [
      open,
      'no switchport',
      'switchport mode trunk',
      `switchport access vlan ${untagged ?? 1}`,
      `switchport trunk allowed vlan ${vlanList(tagged)}`,
      'exit',
    ]),
  trunkNeedsUntagged: true,
  bonds: { ...channelGroups(channels), members: ([config = '']) => channelMembers(config, channels) },
  createVlan: (vlan) => [`interface vlan ${vlan}`, `description baton-${vlan}`, 'exit'],
  removeVlan: {
    commands: ['show running-configuration interface'],
    findOwn: ([config = '']) =>
      [...sectionsOf(config)].flatMap(([name, lines]) => {
        const vlan = Number(/^vlan(\d+)$/.exec(name)?.[1]);
        const more = lines.filter((line) => line !== 'no shutdown');
        return more.length === 1 && more[0] === `description baton-${vlan}` ? vlan : [];
      }),
    lines: (vlan) => [`no interface vlan ${vlan}`],
  },
  save: () => ['copy running-configuration startup-configuration'],
};

/** Descriptions have quotation marks. */
function sectionsOf(config: string): Map<string, readonly string[]> {
  return interfaceSections(config.replace(/^(\s*description) "(.*)"$/gm, '$1 $2'));
}

/**
 * A link to the pair, which carries all, looks like an isolated port but for `discovery-interface`; so does a mirror's end. Hence
 * no port is isolated without the whole configuration.
 */
function withUses(sections: ReadonlyMap<string, readonly string[]>, whole: string, vlans: string) {
  const elsewhere = linesNaming(whole, sections.keys(), namedApart);
  const inWhole = sectionsOf(whole);
  const lacking = [...sections].filter(([name, lines]) => lines.some((line) => !inWhole.get(name)?.includes(line)));
  const unseen = [
    ...(lacking.length === 0 ? [] : ['unseen: all of its interfaces in the whole configuration']),
    ...(ofPair.test(vlans) && !/^ discovery-interface /m.test(whole)
      ? ['unseen: discovery-interface of its pair']
      : []),
    ...(endsAmidSection(whole) ? ['unseen: the end of the whole configuration'] : []),
  ];
  return [...sections].map(([portId, lines]) => {
    const others = (inWhole.get(portId) ?? []).filter((line) => !lines.includes(line));
    const more = lines.includes('no switchport') ? unseen : [];
    return [portId, [...lines, ...others, ...(elsewhere.get(portId) ?? []), ...more]] as const;
  });
}

/** Row of the VLAN that a link to the pair alone has: OS10 keeps both numbers for it. */
const ofPair = /^\s*4094\s.*\bPo1000\b/m;

/**
 * Judges whether a configuration ends amid a section that may name ports. No line marks the end: a section is over where a line
 * of another kind follows, be it `!`. Nothing follows `telemetry`, nor in 10.4 a VLT domain, whose lines are in the alphabet's
 * order: those behind `discovery-interface` name no port.
 */
function endsAmidSection(whole: string): boolean {
  const lines = whole.split('\n').filter((line) => line.trim() !== '');
  const last = lines.at(-1) ?? '';
  const head = lines.findLast((line) => /^[^\s!]/.test(line)) ?? '';
  if (/^(interface|vlt-domain|monitor session) /.test(last)) return true;
  if (!last.startsWith(' ') || head.trim() === 'telemetry') return false;
  return !(head.startsWith('vlt-domain ') && /^ (peer-routing|primary-priority|vlt-mac)\b/.test(last));
}

/** Lines that name a port and send it nothing: where a mirror takes its frames from, what follows a link's state. */
const namedApart = [/^source interface /, /^(no )?track /, /^(up|down)stream /, /^description /];

const words: KnownWords = {
  networks: switchportWords.networks,
  apart: [...switchportWords.apart, lineThatBegins('edge-port', 'default vlan-id')],
  // a routed port that advertises itself as a router is in use
  matters: (line, lines) =>
    lines.includes('no switchport') && /^(ip|ipv6) /.test(line) && !/^ip(v6)? (access-group|dhcp snooping) /.test(line),
};

/** A trunk's access VLAN is its untagged one. */
function vlansOf(lines: readonly string[]): FoundVlans {
  if (describedIn(lines).isDown || lines.some((line) => line.startsWith('channel-group'))) return 'other';
  if (lines.includes('no switchport')) return lines.some((line) => line.startsWith('switchport ')) ? 'other' : isolated;
  const vlan = vlanAfter(lines, 'switchport access vlan', undefined);
  const mode = lines.find((line) => line.startsWith('switchport mode '));
  if (vlan === undefined) return 'other';
  if (mode === undefined || mode === 'switchport mode access') return portVlans(vlan);
  const lists = lines.flatMap((line) => /^switchport trunk allowed vlan (.+)$/.exec(line)?.[1] ?? []);
  const tagged = readVlans(lists.join());
  return mode === 'switchport mode trunk' && tagged ? portVlans(vlan, tagged) : 'other';
}
