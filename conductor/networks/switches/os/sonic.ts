import { z } from 'zod';
import { parseAnswer } from '#conductor/networks/switches/command-line/parse-answer.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';

/** SONiC, by `config` and its database; a port in no VLAN is routed, and isolated while it has no address. */

const table = z.record(z.string(), z.record(z.string(), z.unknown())).default({});
const Database = z.object({
  PORT: table,
  PORTCHANNEL: table,
  PORTCHANNEL_MEMBER: table,
  INTERFACE: table,
  PORTCHANNEL_INTERFACE: table,
  VLAN: table,
  VLAN_MEMBER: table,
});
type Database = z.infer<typeof Database>;

export const sonic: SwitchOs = {
  name: 'sonic',
  portId: /^(Ethernet|PortChannel)\d+$/,
  read: {
    commands: ['sonic-cfggen -d --print-data'],
    parse: ([text]) => {
      const database = parseAnswer(Database, text);
      const names = [...Object.keys(database.PORT), ...Object.keys(database.PORTCHANNEL)];
      return {
        ports: new Map(names.map((portId) => [portId, vlanOf(database, portId)])),
        vlans: new Set(Object.keys(database.VLAN).map((name) => Number(name.replace('Vlan', '')))),
      };
    },
  },
  isolate: (portIds) => portIds.map(leaveVlans),
  access: (portIds, vlan) =>
    portIds.flatMap((portId) => [leaveVlans(portId), `sudo -n config vlan member add -u ${vlan} ${portId}`]),
  createVlan: (vlan) => [`sudo -n config vlan add ${vlan}`],
  joined: (lines) => ['set -e', ...lines].join('\n'),
  save: () => ['sudo -n config save -y'],
};

/** `config` refuses to take out what is not in: the database says what is. */
function leaveVlans(portId: string): string {
  return [
    `for key in $(sonic-db-cli CONFIG_DB keys 'VLAN_MEMBER|*|${portId}'); do`,
    `vlan=\${key#"VLAN_MEMBER|Vlan"}; sudo -n config vlan member del "\${vlan%%|*}" ${portId}; done`,
  ].join(' ');
}

function vlanOf(database: Database, portId: string): number | undefined {
  const of = (entries: Record<string, unknown>) =>
    Object.keys(entries).filter((key) => key.split('|').at(1) === portId);
  const addresses = Object.keys({ ...database.INTERFACE, ...database.PORTCHANNEL_INTERFACE });
  if (of(database.PORTCHANNEL_MEMBER).length > 0 || addresses.some((key) => key.startsWith(`${portId}|`))) return 0;
  const [first, ...more] = of(database.VLAN_MEMBER);
  if (first === undefined) return undefined;
  const isUntagged = database.VLAN_MEMBER[first]?.['tagging_mode'] === 'untagged';
  return isUntagged && more.length === 0 ? Number(first.split('|')[0]?.replace('Vlan', '')) : 0;
}
