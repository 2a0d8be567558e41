import { z } from 'zod';
import { type FoundVlans, portVlans, readVlan } from '#conductor/model/port-vlans.ts';
import { type KnownWords, knownPorts } from '#conductor/networks/switches/command-line/known-ports.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/parse-answer.ts';
import { programs } from '#conductor/networks/switches/command-line/programs.ts';
import type { SwitchOs } from '#conductor/networks/switches/command-line/switch-os.ts';

/** SONiC, by `config` and its database; a port in no VLAN is routed, and isolated while it has no address. */

const table = z.record(z.string(), z.record(z.string(), z.unknown())).default({});
/** The other tables are looked at for the ports' names alone. */
const Database = z.looseObject({
  PORT: table,
  PORTCHANNEL: table,
  PORTCHANNEL_MEMBER: table,
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
        ...knownPorts(
          names.map((portId) => [portId, linesAbout(database, portId)] as const),
          words,
          vlansOf,
        ),
        vlans: new Set(Object.keys(database.VLAN).flatMap((name) => readVlan(name.replace('Vlan', '')) ?? [])),
      };
    },
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

/** Tables whose entries about a port say nothing of its networks. */
const tablesApart = [
  'PORT',
  'PORTCHANNEL',
  'MCLAG_INTERFACE',
  'CABLE_LENGTH',
  'DEVICE_NEIGHBOR',
  'DEVICE_NEIGHBOR_METADATA',
  'LLDP_PORT',
  'BUFFER_PG',
  'BUFFER_QUEUE',
  'BUFFER_PORT_INGRESS_PROFILE_LIST',
  'BUFFER_PORT_EGRESS_PROFILE_LIST',
  'QUEUE',
  'PORT_QOS_MAP',
  'PFC_WD',
  'PORT_STORM_CONTROL',
  'SFLOW_SESSION',
  'STP_PORT',
  'STP_VLAN_PORT',
  'ACL_TABLE',
  'PBH_TABLE',
  'DHCP_RATE_LIMIT',
  'BREAKOUT_CFG',
  'BREAKOUT_PORTS',
  'SCHEDULER',
  'MUX_CABLE',
  'STORM_CONTROL',
  'MACSEC_PORT',
  'UDLD_PORT',
  'AUTO_TECHSUPPORT',
  'LOSSLESS_TRAFFIC_PATTERN',
  'XCVRD_LOG',
  'TRANSCEIVER_INFO',
];

const words: KnownWords = {
  networks: [/^VLAN_MEMBER \d+ (tagged|untagged)$/, /^PORTCHANNEL_MEMBER( |$)/, /^(PORTCHANNEL_)?INTERFACE address$/],
  // that of a mode that takes no tagged VLANs; what is in no VLAN is in none in each
  apart: [/^mode (access|trunk|routed)$/, /^(PORTCHANNEL_)?INTERFACE$/],
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Each entry of any table that names the port, in its key or in a value: `MIRROR_SESSION span dst_port`. */
function linesAbout(database: Database, portId: string): string[] {
  const its = database.PORT[portId] ?? database.PORTCHANNEL[portId] ?? {};
  const mode = its['mode'] === undefined ? [] : [`mode ${textOf(its['mode'])}`];
  // names of subinterfaces may be short, as those of interfaces have 15 characters at most: `Eth64.1000`, `Po7.20`
  const parents = [portId, portId.replace(/^(Eth|Po)[A-Za-z]+/, '$1')].map((name) => `${name}.`);
  const isPort = (name: unknown): boolean =>
    name === portId || (typeof name === 'string' && parents.some((parent) => name.startsWith(parent)));
  const lines = Object.entries(database).flatMap(([name, entries]) => {
    if (tablesApart.includes(name) || typeof entries !== 'object' || entries === null) return [];
    return Object.entries(entries as Record<string, unknown>).flatMap(([key, entry]) => {
      const fields = typeof entry === 'object' && entry !== null ? (entry as Record<string, unknown>) : {};
      // a bond is named before its members
      const names = key.split('|').slice(name === 'PORTCHANNEL_MEMBER' ? 1 : 0);
      if (names.some(isPort)) return describeEntry(name, key, fields);
      // what is copied from a port is not sent to it
      const naming = Object.entries(fields).filter(
        ([field, value]) => field !== 'src_port' && [value].flat().some((each) => textOf(each).split(',').some(isPort)),
      );
      return naming.map(([field]) => `${name} ${key} ${field}`);
    });
  });
  return [...mode, ...lines];
}

/** `VLAN_MEMBER 100 tagged`, `INTERFACE address`, `INTERFACE`, `VLAN_SUB_INTERFACE Ethernet4.10 …` */
function describeEntry(table: string, key: string, fields: Readonly<Record<string, unknown>>): string {
  if (table === 'VLAN_MEMBER')
    return `VLAN_MEMBER ${key.split('|')[0]?.replace('Vlan', '')} ${textOf(fields['tagging_mode'])}`;
  if (table === 'PORTCHANNEL_MEMBER') return table;
  const attributes = Object.keys(fields).filter((field) => field !== 'NULL');
  const isInterface = table === 'INTERFACE' || table === 'PORTCHANNEL_INTERFACE';
  if (isInterface && key.includes('|')) return `${table} address`;
  // routed, as one in no VLAN is
  if (isInterface && attributes.length === 0) return table;
  return [table, key, ...attributes].join(' ');
}

function vlansOf(lines: readonly string[]): FoundVlans {
  const members = lines.map((line) => /^VLAN_MEMBER (\d+) (tagged|untagged)$/.exec(line));
  const vlans = members.map((member) => ({ vlan: readVlan(member?.[1]), isUntagged: member?.[2] === 'untagged' }));
  const [untagged, ...more] = vlans.filter(({ isUntagged }) => isUntagged);
  const all = vlans.flatMap(({ vlan }) => vlan ?? []);
  // an address, a bond, or a number that is none
  if (more.length > 0 || all.length < vlans.length) return 'other';
  return portVlans(untagged?.vlan, all);
}
