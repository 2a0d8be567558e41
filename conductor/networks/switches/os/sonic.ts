import { readVlan } from '#conductor/model/port-vlans.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';
import { programs } from '#conductor/networks/switches/command-line/programs.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';
import { Database, isVlanUsed, readSonicPorts } from '#conductor/networks/switches/os/ports/sonic-ports.ts';

/** SONiC, by `config` and its database; a port in no VLAN is routed, and isolated while it has no address. */

const portId = /^(Ethernet|PortChannel)\d+$/;

export const sonic: SwitchOs = {
  name: 'sonic',
  transports: { ssh: programs },
  portId,
  // the port id in LLDP is an alias, which may look like another port's name, and the description is anybody's words; where
  // neither has been set, it is the switch's address, and the name of the port
  portIdOf: ({ portId: said, description = '' }) =>
    /^([\da-f]{2}:){5}[\da-f]{2}$/i.test(said) && portId.test(description) ? description : undefined,
  aliasesInLldp: /\bSONiC\b/i,
  lldpNames: {
    commands: ['sonic-cfggen -d --print-data'],
    parse: ([text]) => {
      const ports = Object.entries(parseAnswer(Database, text).PORT);
      const saying = Map.groupBy(ports, ([name, { alias }]) => (typeof alias === 'string' ? alias : name));
      return new Map([
        ...ports.flatMap(([name]) => (saying.has(name) ? [] : [[name, name] as const])),
        // what two of them say tells neither
        ...[...saying].flatMap(([said, [[name] = [''], ...more]]) =>
          more.length === 0 ? [[said, name] as const] : [],
        ),
      ]);
    },
  },
  read: {
    commands: ['sonic-cfggen -d --print-data'],
    parse: readSonicPorts,
  },
  isolate: (portIds) => portIds.map(leaveVlans),
  access: (portIds, vlan) =>
    portIds.flatMap((portId) => [
      leaveVlans(portId),
      inMode(portId, 'access', ['trunk']),
      `sudo -n config vlan member add -u ${vlan} ${portId}`,
    ]),
  trunk: (portIds, { untagged, tagged }) =>
    portIds.flatMap((portId) => [
      leaveVlans(portId),
      inMode(portId, 'trunk'),
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
          const bond = database.PORTCHANNEL[name];
          // without the field it is none; a bond that is not there says nothing
          const isStatic = bond && (bond['static'] ?? 'false');
          const mode = isStatic === 'false' ? 'lacp' : isStatic === 'true' ? 'static' : 'other';
          return [portId, { name, mode, acrossPair: paired.includes(name) }];
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
      const database = parseAnswer(Database, text);
      return Object.entries(database.VLAN).flatMap(([name, fields]) => {
        const vlan = readVlan(/^Vlan(\d+)$/.exec(name)?.[1]);
        const isNamed = vlan !== undefined && fields['description'] === `baton-${vlan}`;
        return isNamed && !isVlanUsed(database, name) ? vlan : [];
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

/** Since 202411 a port may have a mode, which says what it can be a member of; one that has none takes both. */
function inMode(portId: string, mode: 'access' | 'trunk', others: readonly string[] = []): string {
  const table = portId.startsWith('PortChannel') ? 'PORTCHANNEL' : 'PORT';
  return [
    `case "$(sonic-db-cli CONFIG_DB hget '${table}|${portId}' mode)" in`,
    `${['""', 'None', mode, ...others].join('|')}) ;; *) sudo -n config switchport mode ${mode} ${portId} ;; esac`,
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
