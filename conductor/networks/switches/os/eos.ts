import { z } from 'zod';
import { type FoundVlans, isolated, portVlans, vlansIn } from '#conductor/model/port-vlans.ts';
import {
  type ChannelWords,
  channelGroups,
  membersIn,
} from '#conductor/networks/switches/command-line/channel-groups.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/parse-answer.ts';
import { shell } from '#conductor/networks/switches/command-line/shell.ts';
import { shellForms } from '#conductor/networks/switches/command-line/shell-forms.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { accessLines, isolateLines, trunkLines } from '#conductor/networks/switches/command-line/switchport-lines.ts';
import { eapi } from '#conductor/networks/switches/https/eapi.ts';

/** Arista EOS: configuration sessions, committed with a timer. */

const Switchports = z.object({
  switchports: z.record(
    z.string(),
    z.object({
      enabled: z.boolean(),
      switchportInfo: z.object({
        mode: z.string(),
        accessVlanId: z.number().optional(),
        trunkingNativeVlanId: z.number().optional(),
        trunkAllowedVlans: z.string().optional(),
        staticTrunkGroups: z.array(z.unknown()).default([]),
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

const isolate = (portIds: readonly string[]): string[] => isolateLines(`interface ${range(portIds)}`);
const channels: ChannelWords = {
  name: (number) => `Port-Channel${number}`,
  opens: (portIds) => [`interface ${range(portIds)}`],
  isolate,
  pair: (number) => `mlag ${number}`,
};

export const eos: SwitchOs = {
  name: 'eos',
  transports: {
    ssh: shell(shellForms.eos),
    https: eapi,
  },
  portId: /^(Ethernet\d+(\/\d+){0,3}|Port-Channel\d+)$/,
  read: {
    commands: ['show interfaces switchport | json', 'show vlan | json'],
    parse: ([switchports, vlans]) => ({
      ports: new Map(
        Object.entries(parseAnswer(Switchports, switchports).switchports).map(([portId, port]) => [
          portId,
          vlansOf(port),
        ]),
      ),
      vlans: new Set(Object.keys(parseAnswer(Vlans, vlans).vlans).map(Number)),
    }),
  },
  isolate,
  access: (portIds, vlan) => accessLines(`interface ${range(portIds)}`, vlan),
  trunk: (portIds, vlans) => trunkLines(`interface ${range(portIds)}`, vlans),
  bonds: {
    ...channelGroups(channels),
    commands: ['show running-config | json'],
    members: ([, , config]) => {
      const sections = Object.entries(parseAnswer(Config, config).cmds).map(
        ([name, section]) => [name.replace('interface ', ''), Object.keys(section?.cmds ?? {})] as const,
      );
      return membersIn(new Map(sections), channels);
    },
  },
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

/** An access VLAN is shown for trunks, too: the mode decides. */
function vlansOf({ enabled, switchportInfo: port }: Switchport): FoundVlans {
  if (!enabled) return 'other';
  if (port.mode === 'access') return port.accessVlanId === undefined ? 'other' : portVlans(port.accessVlanId);
  if (port.mode !== 'trunk' || port.staticTrunkGroups.length > 0) return 'other';
  if (port.trunkAllowedVlans === 'NONE') return isolated;
  const allowed = vlansIn(port.trunkAllowedVlans ?? '');
  const native = port.trunkingNativeVlanId;
  return allowed.length === 0
    ? 'other'
    : portVlans(native !== undefined && allowed.includes(native) ? native : undefined, allowed);
}

/** `Ethernet1,2,Port-Channel7`. */
function range(portIds: readonly string[]): string {
  const byKind = Map.groupBy(portIds, (portId) => portId.replace(/\d.*$/, ''));
  return [...byKind].map(([kind, ids]) => `${kind}${ids.map((id) => id.slice(kind.length)).join(',')}`).join(',');
}
