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
  vlansInTable,
  vlansNamedAlone,
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
import { nxApi } from '#conductor/networks/switches/https/nx-api.ts';

const isolate = (portIds: readonly string[]): string[] => ranges(portIds).flatMap(isolateLines);

/** A pair is a vPC domain. */
const channels: ChannelWords = {
  name: (number) => `port-channel${number}`,
  opens: ranges,
  isolate,
  pair: (number) => `vpc ${number}`,
};

/** Cisco NX-OS. A port without link does not show its mode as a switchport, and the configuration shows no defaults: hence both. */
export const nxos: SwitchOs = {
  name: 'nxos',
  transports: {
    ssh: shell(shellForms.nxos),
    https: nxApi,
  },
  portId: /^(Ethernet\d+(\/\d+){1,2}|port-channel\d+)$/,
  portName: (name) => name.replace(/^Eth(?=\d)/, 'Ethernet'),
  // but for `lldp chassis-id switch`, from 10.2(3)F on
  chassisIdPerPort: /\bNX-OS\b/,
  read: {
    commands: ['show running-config interface', 'show interface switchport', 'show vlan brief'],
    parse: ([config = '', switchports = '', vlans = '']) => {
      const shown = shownPorts(switchports);
      const sections = [...interfaceSections(config)];
      return {
        ports: new Map(sections.map(([portId, lines]) => [portId, vlansOf(lines, shown.get(portId))])),
        // `switchport` makes an access port of VLAN 1 of a routed one
        goDown: portsGoingDown(
          sections,
          (portId, lines) => !isSwitchport(lines, shown.get(portId)) && !lines.includes('shutdown'),
        ),
        vlans: vlansInTable(vlans),
      };
    },
  },
  begin: ['configure terminal'],
  end: ['end'],
  isolate,
  hold: holdRows('isolation', { longest: 254 }, ranges),
  access: (portIds, vlan) => ranges(portIds).flatMap((range) => accessLines(range, vlan)),
  trunk: (portIds, vlans) => ranges(portIds).flatMap((range) => trunkLines(range, vlans)),
  bonds: { ...channelGroups(channels), members: ([config = '']) => channelMembers(config, channels) },
  createVlan: (vlan) => [`vlan ${vlan}`, `name baton-${vlan}`, 'exit'],
  removeVlan: {
    commands: ['show running-config vlan', 'show running-config interface'],
    findOwn: (outputs) => vlansNamedAlone(outputs.join('\n'), (vlan) => `name baton-${vlan}`),
    lines: (vlan) => [`no vlan ${vlan}`],
  },
  save: () => ['copy running-config startup-config'],
};

/** Of one kind each: no document that was found mixes them. */
function ranges(portIds: readonly string[]): string[] {
  return byKind(portIds).map((ids) => `interface ${ids.join(', ')}`);
}

interface ShownPort {
  readonly isSwitchport: boolean;
  readonly accessVlan: number;
}

function shownPorts(text: string): Map<string, ShownPort> {
  const blocks = text.split(/^(?=Name: )/m);
  return new Map(
    blocks.flatMap((block) => {
      const name = /^Name: (\S+)/.exec(block)?.[1];
      if (name === undefined) return [];
      const isSwitchport = /^\s*Switchport: Enabled/m.test(block);
      return [[name, { isSwitchport, accessVlan: Number(/^\s*Access Mode VLAN: (\d+)/m.exec(block)?.[1] ?? 0) }]];
    }),
  );
}

function isSwitchport(lines: readonly string[], shown: ShownPort | undefined): boolean {
  return shown?.isSwitchport === true && !lines.includes('no switchport');
}

function vlansOf(lines: readonly string[], shown: ShownPort | undefined): FoundVlans {
  const mode = lines.find((line) => line.startsWith('switchport mode '));
  if (!shown || !isSwitchport(lines, shown) || describedIn(lines).isDown) return 'other';
  if (mode === 'switchport mode trunk') return trunkVlans(lines);
  const isAccess = mode === undefined || mode === 'switchport mode access';
  return isAccess && shown.accessVlan > 0 ? portVlans(shown.accessVlan) : 'other';
}
