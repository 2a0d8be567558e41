import { z } from 'zod';
import { type FoundVlans, isIsolated, isolated, portVlans, readVlan, readVlans } from '#conductor/model/port-vlans.ts';
import { type ChannelWords, membersIn } from '#conductor/networks/switches/command-line/lines/channel-groups.ts';
import { byKind, knownVlans } from '#conductor/networks/switches/command-line/lines/interface-sections.ts';
import { carriedBy, knownPorts } from '#conductor/networks/switches/command-line/lines/known-ports.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';
import { mayBeListed, mirrorLines } from '#conductor/networks/switches/command-line/lines/port-lists.ts';
import { type MoreLines, trunkVlans } from '#conductor/networks/switches/command-line/lines/switchport-lines.ts';
import { switchportRows } from '#conductor/networks/switches/command-line/lines/switchport-rows.ts';
import { switchportWords } from '#conductor/networks/switches/command-line/lines/switchport-words.ts';
import { shell } from '#conductor/networks/switches/command-line/shell.ts';
import { shellForms } from '#conductor/networks/switches/command-line/shell-forms.ts';
import type { BondRows, SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { eapi } from '#conductor/networks/switches/https/eapi.ts';

/** Arista EOS: configuration sessions, committed with a timer. */

const Switchports = z.object({
  switchports: z.record(
    z.string(),
    z.object({
      enabled: z.boolean(),
      switchportInfo: z.looseObject({
        mode: z.string(),
        accessVlanId: z.number().optional(),
        trunkingNativeVlanId: z.number().optional(),
        trunkAllowedVlans: z.string().optional(),
      }),
    }),
  ),
});
const Config = z.object({
  cmds: z.record(z.string(), z.object({ cmds: z.record(z.string(), z.unknown()).default({}) }).nullable()),
});
const Vlans = z.object({
  vlans: z.record(
    z.string(),
    z.object({ name: z.string().optional(), interfaces: z.record(z.string(), z.unknown()).default({}) }),
  ),
});
const Sessions = z.object({ sessions: z.record(z.string(), z.object({ state: z.string() })).default({}) });

type Switchport = z.infer<typeof Switchports>['switchports'][string];

/** Fields of a switchport that this reading knows, or that no frame's network depends on while the mode is `access` or `trunk`. */
const knownFields: ReadonlySet<string> = new Set([
  'mode',
  'accessVlanId',
  'accessVlanName',
  'trunkingNativeVlanId',
  'trunkingNativeVlanName',
  'trunkAllowedVlans',
  'vlanForwardingMode',
  'sourceportFilterMode',
  'macLearning',
  'tpid',
  'tpidStatus',
  'dot1qVlanTagRequired',
  'dot1qVlanTagRequiredStatus',
  'dot1qVlanTagDisallowed',
  'dynamicBlockedVlans',
  'phoneVlan',
  'phoneTrunkUntagged',
]);

/** A pair is an MLAG domain. */
const channels: Omit<ChannelWords, 'isolate'> = {
  name: (number) => `Port-Channel${number}`,
  opens: ranges,
  pair: (number) => `mlag ${number}`,
};
/** Phones' VLANs; each has a line of its own. */
const phoneLines = ['switchport phone vlan', 'switchport phone trunk'] as const;

export const eos: SwitchOs = {
  name: 'eos',
  transports: {
    ssh: shell(shellForms.eos),
    https: eapi,
  },
  portId: /^(Ethernet\d+(\/\d+){0,3}|Port-Channel\d+)$/,
  portName: (name) => name.replace(/^Et(?=\d)/, 'Ethernet').replace(/^Po(?=\d)/, 'Port-Channel'),
  read: {
    commands: ['show interfaces switchport | json', 'show vlan | json', 'show running-config | json'],
    parse: ([switchports, vlans, config]) => {
      const shown = parseAnswer(Switchports, switchports).switchports;
      // without it `bonds` reads nothing, and the call fails
      const { sections, global } = linesOf(config || '{"cmds":{}}');
      const ports = Object.keys(shown).map(
        (portId) =>
          [portId, [...(sections.get(portId) ?? []), ...usesOf(global, portId), ...moreShown(shown[portId])]] as const,
      );
      return {
        ...knownPorts(
          ports,
          switchportWords,
          (lines, portId) => {
            const found = vlansOf(shown[portId]);
            return isIsolated(found) && !isIsolated(trunkVlans(lines)) ? 'other' : found;
          },
          sections.keys(),
        ),
        // a routed one carries no VLAN of the switch
        carried: carriedBy(ports, (_, portId) => (shown[portId]?.enabled === false ? [] : undefined)),
        vlans: knownVlans(Object.keys(parseAnswer(Vlans, vlans).vlans).map(readVlan)),
        rows: eosRows((portId) => ({
          away: phoneLines
            .filter((phone) => sections.get(portId)?.some((line) => line.startsWith(phone)))
            .map((phone) => `no ${phone}`),
        })),
      };
    },
  },
  ...eosRows(),
  createVlan: (vlan) => [`vlan ${vlan}`, `name baton-${vlan}`, 'exit'],
  removeVlan: {
    commands: ['show vlan | json'],
    // the switch is in a VLAN itself where that has an address or a tunnel
    findOwn: ([vlans]) =>
      Object.entries(parseAnswer(Vlans, vlans).vlans).flatMap(([vlan, { name, interfaces }]) =>
        name === `baton-${vlan}` && !Object.keys(interfaces).some((each) => /^(Cpu|Vx)/.test(each)) ? Number(vlan) : [],
      ),
    lines: (vlan) => [`no vlan ${vlan}`],
  },
  transaction: {
    open: (name) => [`configure session ${name}`],
    diff: (name) => ['end', `show session-config named ${name} diffs`],
    commit: (name) => [`configure session ${name} commit timer 00:02:00`],
    confirm: (name) => [`configure session ${name} commit`],
    abort: (name) => ['end', `configure session ${name} abort`],
    leftBehind: {
      command: 'show configuration sessions detail | json',
      find: (output) =>
        Object.entries(parseAnswer(Sessions, output).sessions)
          .filter(([name, { state }]) => name.startsWith('baton-') && state !== 'completed' && state !== 'aborted')
          .map(([name]) => name),
      discard: (name) => [`configure session ${name} abort`],
    },
  },
  save: () => ['write memory'],
};

function eosRows(moreOf?: (portId: string) => MoreLines) {
  const rows = switchportRows(channels, moreOf);
  const members: BondRows['members'] = ([, , config]) => membersIn(linesOf(config).sections, channels);
  return { ...rows, bonds: { ...rows.bonds, members } };
}

/** Lines of the interfaces, and those that stand alone. */
function linesOf(config: string | undefined) {
  const { cmds } = parseAnswer(Config, config);
  const lines = Object.entries(cmds);
  return {
    sections: new Map(
      lines.flatMap(([name, section]) =>
        name.startsWith('interface ')
          ? [[name.slice('interface '.length), Object.keys(section?.cmds ?? {})] as const]
          : [],
      ),
    ),
    global: linesBelow({ cmds }),
  };
}

/** `mlag configuration peer-link Ethernet1`: each line behind those that it stands below. */
function linesBelow(section: unknown, above = ''): string[] {
  if (typeof section !== 'object' || section === null || !('cmds' in section)) return [];
  return Object.entries(section.cmds ?? {}).flatMap(([line, below]) => [
    `${above}${line}`,
    ...linesBelow(below, `${above}${line} `),
  ]);
}

/** Lines outside the port's own that bring it frames of others. */
function usesOf(global: readonly string[], portId: string): string[] {
  const monitors = global.filter((line) => line.startsWith('monitor session '));
  const links = global.flatMap((line) => {
    const [, name] = /^(?:mlag configuration peer-link|patch panel patch .* interface) ([^\s.]+)/.exec(line) ?? [];
    // a port's own `mlag 7` is another matter
    return name !== undefined && mayBeListed(name, portId) ? [`elsewhere: ${line}`] : [];
  });
  return [...mirrorLines(monitors, portId), ...links];
}

/** Fields that say something which the mode and the lists of VLANs don't: trunk groups, VLANs that a login or another switch gives. */
function moreShown(shown: Switchport | undefined): string[] {
  return Object.entries(shown?.switchportInfo ?? {}).flatMap(([field, value]) => {
    const says = typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
    return says && !knownFields.has(field) ? [`shown: ${field} ${JSON.stringify(value)}`] : [];
  });
}

/** An access VLAN is shown for trunks, too: the mode decides. */
function vlansOf(shown: Switchport | undefined): FoundVlans {
  if (!shown?.enabled) return 'other';
  const { switchportInfo: port } = shown;
  if (port.mode === 'access') {
    const access = readVlan(port.accessVlanId);
    return access === undefined ? 'other' : portVlans(access);
  }
  if (port.mode !== 'trunk') return 'other';
  if (port.trunkAllowedVlans === 'NONE') return isolated;
  const allowed = readVlans(port.trunkAllowedVlans ?? '');
  const native = readVlan(port.trunkingNativeVlanId);
  if (!allowed || native === undefined) return 'other';
  return portVlans(allowed.includes(native) ? native : undefined, allowed);
}

/** `Ethernet1,2`; no document that was found mixes kinds. */
function ranges(portIds: readonly string[]): string[] {
  return byKind(portIds).map((ids) => {
    const kind = ids[0]?.replace(/\d.*$/, '') ?? '';
    return `interface ${kind}${ids.map((id) => id.slice(kind.length)).join(',')}`;
  });
}
