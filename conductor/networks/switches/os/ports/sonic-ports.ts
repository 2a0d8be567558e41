import { z } from 'zod';
import { type FoundVlans, portVlans, readVlan, readVlans } from '#conductor/model/port-vlans.ts';
import { carriedBy, type KnownWords, knownPorts } from '#conductor/networks/switches/command-line/lines/known-ports.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';
import type { SwitchSnapshot } from '#conductor/networks/switches/command-line/switch-os.ts';

/** Reads what SONiC's configuration database says of ports: each table is looked at for their names. Pure. */

const table = z.record(z.string(), z.record(z.string(), z.unknown())).default({});
/** The other tables are looked at for the ports' names alone. */
export const Database = z.looseObject({
  PORT: table,
  PORTCHANNEL: table,
  PORTCHANNEL_MEMBER: table,
  MCLAG_INTERFACE: table,
  VLAN: table,
  VLAN_MEMBER: table,
});
type Database = z.infer<typeof Database>;
type Fields = Readonly<Record<string, unknown>>;

export function readSonicPorts([text]: readonly string[]): SwitchSnapshot {
  const database = parseAnswer(Database, text);
  const names = [...Object.keys(database.PORT), ...Object.keys(database.PORTCHANNEL)];
  const vlans = Object.keys(database.VLAN).map((name) => readVlan(/^Vlan(\d+)$/.exec(name)?.[1]));
  const sections = names.map(
    (portId) => [portId, [...linesOf(database, portId), ...linesAbout(database, portId)]] as const,
  );
  return {
    ...knownPorts(sections, words, vlansOf),
    carried: carriedBy(sections, carriedVlans),
    vlans: vlans.includes(undefined) ? 'unknown' : new Set(vlans.flatMap((vlan) => vlan ?? [])),
  };
}

/** Fields of a VLAN that was only created and named. */
const fieldsOfBareVlan: ReadonlySet<string> = new Set(['NULL', 'vlanid', 'description', 'members', 'members@']);
/** Tables that name each VLAN with members, or each there is: entries that come and go with it. */
const tablesOfEachVlan: ReadonlySet<string> = new Set(['VLAN', 'VLAN_MEMBER', 'STP_VLAN', 'STP_VLAN_PORT']);

/**
 * Whether somebody has put a VLAN to use: another table names it (an address, a tunnel, a DHCP relay), or it has a field that
 * isn't known, such as `dhcp_servers`. Pure.
 * @param name `Vlan100`
 */
export function isVlanUsed(database: Database, name: string): boolean {
  if (Object.keys(database.VLAN[name] ?? {}).some((field) => !fieldsOfBareVlan.has(field))) return true;
  return Object.entries(database).some(
    ([table, entries]) =>
      !tablesOfEachVlan.has(table) &&
      JSON.stringify(entries)
        .split(/[^\w./:-]+/)
        .includes(name),
  );
}

/** Tables whose entries about a port say nothing of its networks. */
const tablesApart: ReadonlySet<string> = new Set([
  'PORT',
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
  'DHCP_SERVER_IPV4_PORT',
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
]);

/** Fields of a port itself, and of a port channel, that say nothing of its networks. */
const fieldsApart: ReadonlySet<string> = new Set([
  'NULL',
  'name',
  'alias',
  'description',
  'lanes',
  'index',
  'speed',
  'valid_speeds',
  'mtu',
  'tpid',
  'admin_status',
  'oper_status',
  'fec',
  'autoneg',
  'adv_speeds',
  'interface_type',
  'adv_interface_types',
  'link_training',
  'unreliable_los',
  'override_unreliable_los',
  'pfc_asym',
  'dom_polling',
  'fast_linkup',
  'tx_power',
  'laser_freq',
  'macsec',
  'mux_cable',
  'role',
  'asic_port_name',
  'core_id',
  'core_port_id',
  'num_voq',
  'coreId',
  'corePortId',
  'coreid',
  'coreportid',
  'numVoq',
  'numvoq',
  'subport',
  'brkout_mode',
  'parent_port',
  'dhcp_rate_limit',
  'dhcp_servers',
  'dhcpv6_servers',
  'min_links',
  'lacp_key',
  'system_mac',
  'fallback',
  'fast_rate',
  'graceful_shutdown_mode',
  'port_load_interval',
  'static',
  'link_state_propagation',
  // of a port channel: each is looked for in PORTCHANNEL_MEMBER
  'members',
  'members@',
]);

const words: KnownWords = {
  networks: [/^VLAN_MEMBER \d+ (tagged|untagged)$/, /^PORTCHANNEL_MEMBER( |$)/, /^(PORTCHANNEL_)?INTERFACE address$/],
  // that of a mode that takes no tagged VLANs; what is in no VLAN is in none in each
  apart: [/^mode (access|trunk|routed)$/, /^(PORTCHANNEL_)?INTERFACE$/],
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** `mode access`, and fields that are not known: `PORT Ethernet0 access_vlan 100`. */
function linesOf(database: Database, portId: string): string[] {
  return (['PORT', 'PORTCHANNEL'] as const).flatMap((table) =>
    Object.entries(database[table][portId] ?? {})
      .filter(([field, value]) => !fieldsApart.has(field) && !agrees(database, portId, field, value))
      .map(([field, value]) =>
        field === 'mode' ? `mode ${textOf(value)}` : `${table} ${portId} ${field} ${textOf(value)}`,
      ),
  );
}

/** Whether a port's own word for its VLANs, which some releases write beside their members, is what these say. */
function agrees(database: Database, portId: string, field: string, value: unknown): boolean {
  const tagging = /^(access_vlan|untagged_vlan)$/.test(field)
    ? 'untagged'
    : /^tagged_vlans@?$/.test(field)
      ? 'tagged'
      : '';
  const said = readVlans([value].flat().map(textOf).join());
  return (
    tagging !== '' &&
    said !== undefined &&
    said.every((vlan) => database.VLAN_MEMBER[`Vlan${vlan}|${portId}`]?.['tagging_mode'] === tagging)
  );
}

/** Each entry of any table that names the port, in its key or in a value: `MIRROR_SESSION span dst_port`. */
function linesAbout(database: Database, portId: string): string[] {
  const lower = portId.toLowerCase();
  // names of subinterfaces may be short, as those of interfaces have 15 characters at most: `Eth64.1000`, `Po7.20`
  const parents = [lower, lower.replace(/^(eth|po)[a-z]+/, '$1')].map((name) => `${name}.`);
  // tables of 802.1X are shown with lower-case names
  const isPort = (name: string): boolean => {
    const said = name.toLowerCase();
    return said === lower || parents.some((parent) => said.startsWith(parent));
  };
  // of a name, a list in any form, or JSON
  const hasPort = (text: string): boolean => text.split(/[^\w./:-]+/).some(isPort);
  return Object.entries(database).flatMap(([table, entries]) => {
    if (tablesApart.has(table) || typeof entries !== 'object' || entries === null) return [];
    return Object.entries(entries as Fields).flatMap(([key, entry]) => {
      if (table === 'PORTCHANNEL' && key === portId) return [];
      const fields = typeof entry === 'object' && entry !== null ? (entry as Fields) : {};
      // a bond is named before its members
      const names = key.split('|').slice(table === 'PORTCHANNEL_MEMBER' ? 1 : 0);
      if (names.some(hasPort)) return describeEntry(table, key, fields);
      return Object.entries(fields)
        .filter(([field, value]) => hasPort(textOf(value)) && !isSaid(field))
        .map(([field]) => `${table} ${key} ${field}`);

      function isSaid(field: string): boolean {
        if (field === 'description') return true;
        // what is copied from a port is not sent to it
        if (table === 'MIRROR_SESSION') return field === 'src_port';
        // earlier releases list members at the VLAN and at the bond, too
        const list =
          table === 'VLAN' ? database.VLAN_MEMBER : table === 'PORTCHANNEL' ? database.PORTCHANNEL_MEMBER : {};
        return /^members@?$/.test(field) && `${key}|${portId}` in list;
      }
    });
  });
}

/** `VLAN_MEMBER 100 tagged`, `INTERFACE address`, `INTERFACE`, `VLAN_SUB_INTERFACE Ethernet4.10 …` */
function describeEntry(table: string, key: string, fields: Fields): string {
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

/** Router interfaces and their subinterfaces carry no VLAN of the switch but those that they are members of. */
function carriedVlans(lines: readonly string[]): readonly (number | undefined)[] | undefined {
  const members = lines.filter((line) => line.startsWith('VLAN_MEMBER '));
  const routed = /^((PORTCHANNEL_)?INTERFACE|VLAN_SUB_INTERFACE)( |$)|^mode routed$/;
  const others = lines.filter((line) => !members.includes(line));
  if (others.length === 0 || !others.every((line) => routed.test(line))) return undefined;
  return members.map((line) => readVlan(line.split(' ')[1]));
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
