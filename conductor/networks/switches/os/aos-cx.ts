import {
  interfaceSections,
  numberAfter,
  numbersIn,
} from '#conductor/networks/switches/command-line/interface-sections.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';

/** HPE Aruba AOS-CX: a trunk of no VLANs is one of all, so an isolated port is one that is routed and has no address. */
export const aosCx: SwitchOs = {
  name: 'aos-cx',
  shell: {
    setUp: ['no page'],
    errors: /^(Invalid input|% Command incomplete|% ?Error|Error:|Failed|Operation not allowed)/m,
  },
  portId: /^(\d+\/\d+\/\d+|lag\d+)$/,
  read: {
    commands: ['show running-config'],
    parse: ([config = '']) => ({
      ports: new Map([...interfaceSections(config)].map(([portId, lines]) => [portId, vlanOf(lines)])),
      vlans: new Set([...config.matchAll(/^vlan ([\d,-]+)\s*$/gm)].flatMap((match) => numbersIn(match[1] ?? ''))),
    }),
  },
  begin: ['configure terminal'],
  end: ['end'],
  isolate: (portIds) => portIds.flatMap((portId) => [`interface ${spaced(portId)}`, 'routing', 'exit']),
  access: (portIds, vlan) =>
    portIds.flatMap((portId) => [
      `interface ${spaced(portId)}`,
      'routing',
      'no routing',
      `vlan access ${vlan}`,
      'exit',
    ]),
  createVlan: (vlan) => [`vlan ${vlan}`, `name baton-${vlan}`, 'exit'],
  save: () => ['write memory'],
};

/** A group is `lag 7` to its command line and `lag7` to LLDP. */
function spaced(portId: string): string {
  return portId.replace(/^lag/, 'lag ');
}

function vlanOf(lines: readonly string[]): number | undefined {
  if (lines.some((line) => /^(ip|ipv6) address /.test(line) || line.startsWith('lag '))) return 0;
  if (!lines.includes('no routing')) return undefined;
  return lines.some((line) => line.startsWith('vlan trunk ')) ? 0 : (numberAfter(lines, 'vlan access') ?? 0);
}
