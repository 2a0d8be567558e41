import { z } from 'zod';
import { parseAnswer } from '#conductor/networks/switches/command-line/parse-answer.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';

/** Arista EOS: configuration sessions, committed with a timer. */

const Switchports = z.object({
  switchports: z.record(
    z.string(),
    z.object({
      enabled: z.boolean(),
      switchportInfo: z.object({
        mode: z.string(),
        accessVlanId: z.number().optional(),
        trunkAllowedVlans: z.string().optional(),
        staticTrunkGroups: z.array(z.unknown()).default([]),
      }),
    }),
  ),
});
const Vlans = z.object({ vlans: z.record(z.string(), z.unknown()) });
const Sessions = z.object({ sessions: z.record(z.string(), z.object({ state: z.string() })).default({}) });

type Switchport = z.infer<typeof Switchports>['switchports'][string];

export const eos: SwitchOs = {
  name: 'eos',
  shell: { setUp: ['enable', 'terminal length 0', 'terminal width 511'], errors: /^% /m },
  portId: /^(Ethernet\d+(\/\d+){0,2}|Port-Channel\d+)$/,
  read: {
    commands: ['show interfaces switchport | json', 'show vlan | json'],
    parse: ([switchports, vlans]) => ({
      ports: new Map(
        Object.entries(parseAnswer(Switchports, switchports).switchports).map(([portId, port]) => [
          portId,
          vlanOf(port),
        ]),
      ),
      vlans: new Set(Object.keys(parseAnswer(Vlans, vlans).vlans).map(Number)),
    }),
  },
  isolate: (portIds) => [
    `interface ${range(portIds)}`,
    'switchport',
    'switchport mode trunk',
    'switchport trunk allowed vlan none',
    'no switchport trunk native vlan',
    'no switchport access vlan',
    'exit',
  ],
  access: (portIds, vlan) => [
    `interface ${range(portIds)}`,
    'switchport',
    'switchport mode access',
    `switchport access vlan ${vlan}`,
    'switchport trunk allowed vlan none',
    'no switchport trunk native vlan',
    'exit',
  ],
  createVlan: (vlan) => [`vlan ${vlan}`, `name baton-${vlan}`, 'exit'],
  transaction: {
    open: (name) => [`configure session ${name}`],
    diff: 'show session-config diffs',
    commit: () => ['commit timer 00:02:00'],
    confirm: (name) => [`configure session ${name} commit`],
    abort: ['abort'],
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
function vlanOf({ enabled, switchportInfo: port }: Switchport): number | undefined {
  if (!enabled) return 0;
  if (port.mode === 'access') return port.accessVlanId ?? 0;
  const isolated = port.mode === 'trunk' && port.trunkAllowedVlans === 'NONE' && port.staticTrunkGroups.length === 0;
  return isolated ? undefined : 0;
}

/** `Ethernet1,2,Port-Channel7`. */
function range(portIds: readonly string[]): string {
  const byKind = Map.groupBy(portIds, (portId) => portId.replace(/\d.*$/, ''));
  return [...byKind].map(([kind, ids]) => `${kind}${ids.map((id) => id.slice(kind.length)).join(',')}`).join(',');
}
