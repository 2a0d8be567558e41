import { vlanList } from '#conductor/model/port-vlans.ts';
import { programs } from '#conductor/networks/switches/command-line/programs.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { nvue } from '#conductor/networks/switches/https/nvue.ts';
import { bridge, readCumulusBonds, readCumulusPorts } from '#conductor/networks/switches/os/ports/cumulus-ports.ts';

/**
 * NVIDIA Cumulus Linux 5 by NVUE: what is set is pending until `nv config apply`. A port of the bridge without settings
 * carries all its VLANs: an isolated one is in no bridge.
 */

export const cumulus: SwitchOs = {
  name: 'cumulus',
  transports: { ssh: programs, https: nvue },
  portId: /^(swp\d+(s\d+)?|bond\d+)$/,
  read: {
    commands: ['nv show interface -o json', 'nv config show -o json'],
    parse: readCumulusPorts,
  },
  isolate: (portIds) => portIds.map((portId) => `nv unset interface ${portId} bridge`),
  access: (portIds, vlan) =>
    portIds.flatMap((portId) => [
      `nv unset interface ${portId} bridge`,
      `nv set interface ${portId} bridge domain ${bridge} access ${vlan}`,
    ]),
  trunk: (portIds, { untagged, tagged }) =>
    portIds.flatMap((portId) => [
      `nv unset interface ${portId} bridge`,
      `nv set interface ${portId} bridge domain ${bridge} untagged ${untagged ?? 'none'}`,
      `nv set interface ${portId} bridge domain ${bridge} vlan ${vlanList(tagged)}`,
    ]),
  bonds: {
    name: (number) => `bond${number}`,
    modes: ['lacp', 'static'],
    pairs: ['lacp', 'static'],
    members: readCumulusBonds,
    make: ({ name, number, mode, acrossPair }) => [
      `nv unset interface ${name}`,
      `nv set interface ${name} bond mode ${mode}`,
      ...(acrossPair ? [`nv set interface ${name} bond mlag id ${number}`] : []),
    ],
    join: (portIds, { name }) => portIds.map((portId) => `nv set interface ${name} bond member ${portId}`),
    leave: (portIds, name) => portIds.map((portId) => `nv unset interface ${name} bond member ${portId}`),
    remove: (name) => [`nv unset interface ${name}`],
  },
  createVlan: (vlan) => [`nv set bridge domain ${bridge} vlan ${vlan}`],
  // what an earlier, lost session left pending would be applied with it
  begin: ['nv config detach'],
  end: ['nv config apply -y'],
  joined: (lines) => [['set -e', ...lines].join('\n')],
  save: () => ['nv config save'],
};
