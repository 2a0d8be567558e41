import { portVlans } from '#conductor/model/port-vlans.ts';
import {
  interfaceSections,
  numberAfter,
  vlansInTable,
} from '#conductor/networks/switches/command-line/lines/interface-sections.ts';
import {
  accessLines,
  isolateLines,
  trunkLines,
  trunkVlans,
} from '#conductor/networks/switches/command-line/lines/switchport-lines.ts';
import { shell } from '#conductor/networks/switches/command-line/shell.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';

/** A whole operating system, as an example: `acme.test.ts` runs the contract on it. */
export const acme: SwitchOs = {
  name: 'acme',
  transports: { ssh: shell({ setUp: ['terminal length 0'], errors: /^% /m }) },
  portId: /^eth\d+$/,
  read: {
    commands: ['show running-config', 'show vlan'],
    parse: ([config = '', vlans = '']) => ({
      ports: new Map([...interfaceSections(config)].map(([portId, lines]) => [portId, vlansOf(lines)])),
      vlans: vlansInTable(vlans),
    }),
  },
  begin: ['configure terminal'],
  end: ['end'],
  isolate: (portIds) => portIds.flatMap((portId) => isolateLines(`interface ${portId}`)),
  access: (portIds, vlan) => portIds.flatMap((portId) => accessLines(`interface ${portId}`, vlan)),
  trunk: (portIds, vlans) => portIds.flatMap((portId) => trunkLines(`interface ${portId}`, vlans)),
  createVlan: (vlan) => [`vlan ${vlan}`, 'exit'],
  save: () => ['write memory'],
};

function vlansOf(lines: readonly string[]) {
  if (lines.includes('switchport mode trunk')) return trunkVlans(lines);
  const vlan = numberAfter(lines, 'switchport access vlan');
  return vlan === undefined ? 'other' : portVlans(vlan);
}
