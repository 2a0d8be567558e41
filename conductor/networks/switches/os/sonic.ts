import { z } from 'zod';
import { type FoundVlans, portVlans } from '#conductor/model/port-vlans.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/parse-answer.ts';
import { programs } from '#conductor/networks/switches/command-line/programs.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';

/** SONiC, by `config` and its database; a port in no VLAN is routed, and isolated while it has no address. */

const table = z.record(z.string(), z.record(z.string(), z.unknown())).default({});
const Database = z.object({
  PORT: table,
  PORTCHANNEL: table,
  PORTCHANNEL_MEMBER: table,
  INTERFACE: table,
  PORTCHANNEL_INTERFACE: table,
  MCLAG_INTERFACE: table,
  VLAN: table,
  VLAN_MEMBER: table,
  VLAN_INTERFACE: table,
  VXLAN_TUNNEL_MAP: table,
});
type Database = z.infer<typeof Database>;

const portId = /^(Ethernet|PortChannel)\d+$/;

export const sonic: SwitchOs = {
  name: 'sonic',
  transports: { ssh: programs },
  portId,
  // the port id in LLDP is an alias, which may look like another port's name; the description is the name unless one is set
  portIdOf: ({ description = '' }) => (portId.test(description) ? description : undefined),
  lldpNames: {
    commands: ['sonic-cfggen -d --print-data'],
    parse: ([text]) => {
      const ports = Object.entries(parseAnswer(Database, text).PORT);
      const aliases = ports.flatMap(([name, { alias }]) => (typeof alias === 'string' ? [[alias, name] as const] : []));
      return new Map([...ports.map(([name]) => [name, name] as const), ...aliases]);
    },
  },
  read: {
    commands: ['sonic-cfggen -d --print-data'],
    parse: ([text]) => {
      const database = parseAnswer(Database, text);
      const names = [...Object.keys(database.PORT), ...Object.keys(database.PORTCHANNEL)];
      return {
        ports: new Map(names.map((portId) => [portId, vlansOf(database, portId)])),
        vlans: new Set(Object.keys(database.VLAN).map((name) => Number(name.replace('Vlan', '')))),
      };
    },
  },
  isolate: (portIds) => portIds.map(leaveVlans),
  access: (portIds, vlan) =>
    portIds.flatMap((portId) => [leaveVlans(portId), `sudo -n config vlan member add -u ${vlan} ${portId}`]),
  trunk: (portIds, { untagged, tagged }) =>
    portIds.flatMap((portId) => [
      leaveVlans(portId),
      ...(untagged === undefined ? [] : [`sudo -n config vlan member add -u ${untagged} ${portId}`]),
      ...tagged.map((vlan) => `sudo -n config vlan member add ${vlan} ${portId}`),
    ]),
  bonds: {
    name: (number) => `PortChannel${number}`,
    modes: ['lacp'],
    pairs: ['lacp'],
    members: ([text]) => {
      const database = parseAnswer(Database, text);
      const paired = Object.keys(database.MCLAG_INTERFACE).map((key) => key.split('|')[1]);
      return new Map(
        Object.keys(database.PORTCHANNEL_MEMBER).map((key) => {
          const [name = '', portId = ''] = key.split('|');
          return [portId, { name, mode: 'lacp', acrossPair: paired.includes(name) }];
        }),
      );
    },
    make: ({ name, acrossPair }) => [
      `sonic-db-cli CONFIG_DB keys 'PORTCHANNEL|${name}' | grep -q . || sudo -n config portchannel add ${name}`,
      leaveVlans(name),
      acrossPair ? joinPair(name) : leavePair(name),
    ],
    join: (portIds, { name }) =>
      portIds.map(
        (portId) =>
          `sonic-db-cli CONFIG_DB keys 'PORTCHANNEL_MEMBER|${name}|${portId}' | grep -q . || sudo -n config portchannel member add ${name} ${portId}`,
      ),
    leave: (portIds, name) => portIds.map((portId) => `sudo -n config portchannel member del ${name} ${portId}`),
    remove: (name) => [leavePair(name), `sudo -n config portchannel del ${name}`],
  },
  // a VLAN has no name
  createVlan: (vlan) => [
    `sudo -n config vlan add ${vlan}`,
    `sudo -n sonic-db-cli CONFIG_DB hset 'VLAN|Vlan${vlan}' description baton-${vlan}`,
  ],
  removeVlan: {
    commands: ['sonic-cfggen -d --print-data'],
    findOwn: ([text]) => {
      const { VLAN, VLAN_INTERFACE, VXLAN_TUNNEL_MAP } = parseAnswer(Database, text);
      const routed = Object.keys(VLAN_INTERFACE).map((key) => key.split('|')[0]);
      const tunnels = Object.values(VXLAN_TUNNEL_MAP).map((entry) => entry['vlan']);
      return Object.entries(VLAN).flatMap(([name, { description }]) => {
        const vlan = Number(name.replace('Vlan', ''));
        const isOurs = description === `baton-${vlan}` && !routed.includes(name) && !tunnels.includes(name);
        return isOurs ? vlan : [];
      });
    },
    // an operator has made the uplink a member, or there would be no way out
    uplinksKeep: true,
    lines: (vlan) => [`sudo -n config vlan del ${vlan}`],
  },
  joined: (lines) => [['set -e', ...lines].join('\n')],
  save: () => ['sudo -n config save -y'],
};

/** `config` refuses to take out what is not in: the database says what is. */
function leaveVlans(portId: string): string {
  return [
    `for key in $(sonic-db-cli CONFIG_DB keys 'VLAN_MEMBER|*|${portId}'); do`,
    `vlan=\${key#"VLAN_MEMBER|Vlan"}; sudo -n config vlan member del "\${vlan%%|*}" ${portId}; done`,
  ].join(' ');
}

/** A switch has one MCLAG domain at most. */
function joinPair(name: string): string {
  return [
    `domain=$(sonic-db-cli CONFIG_DB keys 'MCLAG_DOMAIN|*'); domain=\${domain#"MCLAG_DOMAIN|"};`,
    '[ -n "$domain" ] || { echo \'Error: it has no MCLAG domain: set one up by config mclag add\' >&2; exit 2; };',
    `sonic-db-cli CONFIG_DB keys "MCLAG_INTERFACE|$domain|${name}" | grep -q . ||`,
    `sudo -n config mclag member add "$domain" ${name}`,
  ].join(' ');
}

function leavePair(name: string): string {
  return [
    `for key in $(sonic-db-cli CONFIG_DB keys 'MCLAG_INTERFACE|*|${name}'); do`,
    `domain=\${key#"MCLAG_INTERFACE|"}; sudo -n config mclag member del "\${domain%%|*}" ${name}; done`,
  ].join(' ');
}

function vlansOf(database: Database, portId: string): FoundVlans {
  const of = (entries: Record<string, unknown>) =>
    Object.keys(entries).filter((key) => key.split('|').at(1) === portId);
  const addresses = Object.keys({ ...database.INTERFACE, ...database.PORTCHANNEL_INTERFACE });
  if (of(database.PORTCHANNEL_MEMBER).length > 0 || addresses.some((key) => key.startsWith(`${portId}|`)))
    return 'other';
  const members = of(database.VLAN_MEMBER).map((key) => ({
    vlan: Number(key.split('|')[0]?.replace('Vlan', '')),
    isUntagged: database.VLAN_MEMBER[key]?.['tagging_mode'] === 'untagged',
  }));
  const [untagged, ...more] = members.filter(({ isUntagged }) => isUntagged);
  if (more.length > 0) return 'other';
  return portVlans(
    untagged?.vlan,
    members.map(({ vlan }) => vlan),
  );
}
