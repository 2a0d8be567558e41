import {
  interfaceSections,
  numberAfter,
  vlansInTable,
} from '#conductor/networks/switches/command-line/interface-sections.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';

/** Dell OS10: a trunk can't do without its native VLAN, so an isolated port is one that is routed and has no address. */
export const os10: SwitchOs = {
  name: 'os10',
  shell: { setUp: ['terminal length 0'], errors: /^(%? ?Error:|% )/m },
  portId: /^(ethernet\d+\/\d+\/\d+(:\d)?|port-channel\d+)$/,
  read: {
    commands: ['show running-configuration interface', 'show vlan'],
    parse: ([config = '', vlans = '']) => ({
      ports: new Map([...interfaceSections(config)].map(([portId, lines]) => [portId, vlanOf(lines)])),
      vlans: vlansInTable(vlans),
    }),
  },
  begin: ['configure terminal'],
  end: ['end'],
  isolate: (portIds) => portIds.flatMap((portId) => [`interface ${portId}`, 'no switchport', 'exit']),
  access: (portIds, vlan) =>
    portIds.flatMap((portId) => [
      `interface ${portId}`,
      'no switchport',
      'switchport mode access',
      `switchport access vlan ${vlan}`,
      'exit',
    ]),
  createVlan: (vlan) => [`interface vlan ${vlan}`, `description baton-${vlan}`, 'exit'],
  save: () => ['copy running-configuration startup-configuration'],
};

function vlanOf(lines: readonly string[]): number | undefined {
  const isRouted = lines.includes('no switchport');
  if (isRouted) return lines.some((line) => /^(ip|ipv6) address /.test(line)) ? 0 : undefined;
  if (lines.some((line) => line.startsWith('switchport mode ') && line !== 'switchport mode access')) return 0;
  return numberAfter(lines, 'switchport access vlan') ?? 0;
}
