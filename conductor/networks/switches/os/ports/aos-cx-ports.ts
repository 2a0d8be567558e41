import { type FoundVlans, isolated, portVlans, readVlan, readVlans } from '#conductor/model/port-vlans.ts';
import { describedIn } from '#conductor/networks/switches/command-line/hold-ports.ts';
import { vlanAfter } from '#conductor/networks/switches/command-line/lines/interface-sections.ts';
import {
  carriedBy,
  type KnownWords,
  knownPorts,
  lineThatBegins,
} from '#conductor/networks/switches/command-line/lines/known-ports.ts';
import { linesNaming } from '#conductor/networks/switches/command-line/lines/named-elsewhere.ts';
import { defaultVlan } from '#conductor/networks/switches/command-line/lines/switchport-lines.ts';

/** Reads ports of HPE Aruba AOS-CX from the configuration and `show interface brief`. Pure. */

/** A row of the brief table. */
interface ShownPort {
  /** Untagged VLAN, after what a login at the port may have changed. */
  readonly native: number | undefined;
  /** `routed`, `access`, `trunk` */
  readonly mode: string;
  /** The configuration does not say on every model which ports are up. */
  readonly isEnabled: boolean;
}

export function shownPorts(brief: string): Map<string, ShownPort> {
  const rows = brief.matchAll(/^(\d\S+|lag\d+)\s+(\S+)\s+([a-z]+)\s.*?\s(yes|no)\s+(?:up|down)\b/gm);
  return new Map(
    [...rows].map(([, portId = '', native, mode = '', isIn]) => [
      portId,
      { native: readVlan(native), mode, isEnabled: isIn === 'yes' },
    ]),
  );
}

const list = String.raw`\d{1,4}([,-]\d{1,4})*`;
const words: KnownWords = {
  networks: [
    /^(no )?routing$/,
    /^vlan access \d{1,4}$/,
    /^vlan trunk native \d{1,4}( tag)?$/,
    new RegExp(`^vlan trunk allowed (all|${list})$`),
    /^lag \d+$/,
    /^description .*$/,
  ],
  apart: [
    lineThatBegins(
      'shutdown',
      'mtu',
      'ip mtu',
      'speed',
      'duplex',
      'flow-control',
      'energy-efficient-ethernet',
      'power-over-ethernet',
      'multi-chassis',
      'portfilter',
      'lacp',
      'lldp',
      'cdp',
      'spanning-tree',
      'loop-protect',
      'rate-limit',
      'qos',
      'apply',
      'udld',
      'l3-counters',
      'dhcpv4-snooping',
      'dhcpv6-snooping',
      'arp inspection',
      'nd-snooping',
      'sflow',
      'ptp',
      'mdix',
      'persona',
      'hash',
      'trap link-status',
      'vsx-sync',
      'client track',
      'ip (igmp|source-lockdown|ospf) disable',
      'error-control',
      'split',
      'poe-allocate-by',
      'allow-unsupported-transceiver',
      'transceiver',
      'aging',
      'fault-monitor',
      'eee',
      'autonegotiate',
    ),
  ],
};

/** Lines that name a port and send it nothing: where a mirror takes its frames from, what follows a link's state. */
const namedApart = [/^source interface /, /^(no )?track /, /^(no )?mac-address-table /, /^description /];

/** @param version such as `PL.10.08.0001`: 4100i, 6000 and 6100 route at no port; `undefined` = it does not say its family */
export function familyRoutes(version: string | undefined): boolean | undefined {
  const letters = /^([A-Z]{2})\./.exec(version ?? '')?.[1];
  return letters === undefined ? undefined : !['PL', 'RL'].includes(letters);
}

export function readAosCxPorts(
  config: string,
  sections: ReadonlyMap<string, readonly string[]>,
  shown: ReadonlyMap<string, ShownPort>,
) {
  const canRoute = familyRoutes(/^!Version ArubaOS-CX (\S+)/m.exec(config)?.[1]);
  const elsewhere = linesNaming(config, sections.keys(), namedApart);
  // models whose ports route leave out those that nobody has set, which are routed and shut
  const lacking = [...shown].filter(
    ([portId, its]) => !sections.has(portId) && (its.isEnabled || its.mode !== 'routed'),
  );
  const last = endsWith(config);
  const withUses = [...sections].map(([portId, lines]) => {
    const its = shown.get(portId);
    const vlan = nativeOf(lines);
    const isOdd = vlan !== undefined && its?.native !== undefined && its.native !== vlan;
    // of a configuration that stops short, nothing that it lacks is known
    const unseen = [
      ...lacking.map(([name]) => `unseen: interface ${name} in the configuration`),
      ...(portId === last ? ['unseen: the end of its lines'] : []),
    ];
    const more = [
      ...(isOdd ? [`in effect: VLAN ${its.native}`] : []),
      ...(isRouted(lines, its, canRoute) ? unseen : []),
    ];
    return [portId, [...lines, ...(elsewhere.get(portId) ?? []), ...more]] as const;
  });
  const vlans = [...config.matchAll(/^vlan ([\d,-]+)\s*$/gm)].map((match) => readVlans(match[1] ?? ''));
  return {
    ...knownPorts(
      withUses,
      words,
      (lines, portId) => vlansOf(lines, shown.get(portId), canRoute),
      new Set([...sections.keys(), ...shown.keys()]),
    ),
    carried: carriedBy(sections, (lines, portId) => (isRouted(lines, shown.get(portId), canRoute) ? [] : undefined)),
    fixed: new Map(canRoute === false ? [...sections.keys()].map((portId) => [portId, noIsolation]) : []),
    vlans:
      vlans.length === 0 || vlans.includes(undefined)
        ? ('unknown' as const)
        : new Set(vlans.flatMap((its) => its ?? [])),
  };
}

/** Finds the port whose section nothing follows: the configuration has more after its ports. */
function endsWith(config: string): string | undefined {
  const heads = config.split('\n').filter((line) => /^\S/.test(line));
  return /^interface (\S.*?)\s*$/
    .exec(heads.at(-1) ?? '')?.[1]
    ?.replace(/ multi-chassis.*$/, '')
    .replace(/\s+/g, '');
}

/** The untagged VLAN that lines give, where they do. */
function nativeOf(lines: readonly string[]): number | undefined {
  return readVlan(lines.flatMap((line) => /^vlan (?:access|trunk native) (\d+)/.exec(line)?.[1] ?? [])[0]);
}

export const noIsolation =
  'AOS-CX on the 4100i, 6000 and 6100 routes at no port, and Baton isolates a port by `routing`: such a switch can be read, ' +
  'and is set by hand (network_interface flat or noop)';

function isRouted(lines: readonly string[], shown: ShownPort | undefined, canRoute: boolean | undefined): boolean {
  if (lines.some((line) => /^(no routing|vlan |lag \d)/.test(line))) return false;
  // without a word of the switch about it, a port may be in VLAN 1
  return shown?.mode === 'routed' && (lines.includes('routing') || canRoute !== false);
}

function vlansOf(lines: readonly string[], shown: ShownPort | undefined, canRoute: boolean | undefined): FoundVlans {
  if (lines.some((line) => /^lag \d/.test(line)) || describedIn(lines).isDown) return 'other';
  if (isRouted(lines, shown, canRoute)) return isolated;
  if (lines.includes('routing') || shown?.mode === 'routed') return 'other';
  const isTrunk = lines.some((line) => line.startsWith('vlan trunk '));
  const access = vlanAfter(lines, 'vlan access', undefined);
  if (!isTrunk) return access === undefined ? 'other' : portVlans(access);
  const lists = lines.flatMap((line) => /^vlan trunk allowed (.+)$/.exec(line)?.[1] ?? []);
  const allowed = readVlans(lists.join());
  // `native 100 tag` has no untagged VLAN, and is nothing that Baton sets
  const native = readVlan(vlanAfter(lines, 'vlan trunk native', defaultVlan));
  if (!allowed || native === undefined) return 'other';
  return portVlans(allowed.includes(native) ? native : undefined, allowed);
}
