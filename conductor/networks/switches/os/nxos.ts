import { holdRows, portsGoingDown } from '#conductor/networks/switches/command-line/hold-ports.ts';
import type { ChannelWords } from '#conductor/networks/switches/command-line/lines/channel-groups.ts';
import {
  byKind,
  interfaceSections,
  vlansInTable,
  vlansNamedAlone,
} from '#conductor/networks/switches/command-line/lines/interface-sections.ts';
import { nativeIsTagged, tagsNative } from '#conductor/networks/switches/command-line/lines/switchport-lines.ts';
import { switchportRows } from '#conductor/networks/switches/command-line/lines/switchport-rows.ts';
import { shell } from '#conductor/networks/switches/command-line/shell.ts';
import { shellForms } from '#conductor/networks/switches/command-line/shell-forms.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { nxApi } from '#conductor/networks/switches/https/nx-api.ts';
import {
  isSwitchport,
  readNxosPorts,
  shownPorts,
  voiceLine,
} from '#conductor/networks/switches/os/ports/nxos-ports.ts';

/** A pair is a vPC domain. */
const words: Omit<ChannelWords, 'isolate'> = {
  name: (number) => `port-channel${number}`,
  opens: ranges,
  pair: (number) => `vpc ${number}`,
};
const hold = holdRows('isolation', { longest: 254 }, ranges);

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
    // NX-API knows no answer without text: the version is one
    commands: [
      'show running-config interface',
      'show interface switchport',
      'show vlan brief',
      'show running-config | include "version|dot1q tag native"',
    ],
    parse: ([config = '', switchports = '', vlans = '', native = '']) => {
      const shown = shownPorts(switchports);
      const sections = interfaceSections(config);
      return {
        ...readNxosPorts(sections, shown, tagsNative(native)),
        ...(tagsNative(native) ? { untaggedRefused: nativeIsTagged } : {}),
        // `switchport` makes an access port of VLAN 1 of a routed one
        goDown: portsGoingDown(
          sections,
          (portId, lines) => !isSwitchport(lines, shown.get(portId)) && !lines.includes('shutdown'),
        ),
        vlans: vlansInTable(vlans),
        rows: { ...switchportRows(words, (portId) => ({ away: awayFrom(sections.get(portId)) })), hold },
      };
    },
  },
  begin: ['configure terminal'],
  end: ['end'],
  ...switchportRows(words),
  hold,
  createVlan: (vlan) => [`vlan ${vlan}`, `name baton-${vlan}`, 'exit'],
  removeVlan: {
    commands: ['show running-config vlan', 'show running-config interface'],
    findOwn: (outputs) => vlansNamedAlone(outputs.join('\n'), (vlan) => `name baton-${vlan}`),
    lines: (vlan) => [`no vlan ${vlan}`],
  },
  save: () => ['copy running-config startup-config'],
};

/** Not every model knows the command: it is given where its line is. */
function awayFrom(lines: readonly string[] = []): string[] {
  return lines.some((line) => line.startsWith(voiceLine)) ? [`no ${voiceLine}`] : [];
}

/** Joins ports to ranges of one kind each: no document that was found mixes them. */
function ranges(portIds: readonly string[]): string[] {
  return byKind(portIds).map((ids) => `interface ${ids.join(', ')}`);
}
