import {
  allVlans,
  type FoundVlans,
  isolated,
  portVlans,
  readVlan,
  readVlans,
  sameVlans,
} from '#conductor/model/port-vlans.ts';
import { carriedBy, type KnownWords, knownPorts } from '#conductor/networks/switches/command-line/lines/known-ports.ts';
import { notUnderstood } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';
import type { Membership, SwitchSnapshot } from '#conductor/networks/switches/command-line/switch-os.ts';
import { elementsAt, textAt, type XmlElement } from '#conductor/networks/switches/netconf/xml.ts';

/**
 * Reads what OpenConfig's models say of ports: as configured, as in effect, and by the network instances that list
 * them. Pure.
 */

export function vlanElements(instances: string): readonly XmlElement[] {
  return elementsAt(JSON.parse(instances), 'data', 'network-instances', 'network-instance', 'vlans', 'vlan');
}

const interfacesIn = (ports: string): readonly XmlElement[] =>
  elementsAt(JSON.parse(ports), 'data', 'interfaces', 'interface');

export function readOpenconfigPorts([ports = '', instances = '']: readonly string[]): SwitchSnapshot {
  for (const answer of [ports, instances]) requireData(answer);
  const byName = Map.groupBy(interfacesIn(ports), (each) => textAt(each, 'name') ?? '');
  const mentions = mentionsIn(instances);
  const sections = [...byName].map(([portId, its]) => {
    const lines = its.flatMap(({ children }) => children.flatMap(pathsOf));
    const configured = configuredVlans(lines);
    const more = mentions.flatMap(({ line, name, vlan }) => {
      const isItself = name === portId && vlan !== undefined && configured !== 'other';
      const isKnown = isItself && allVlans(configured).includes(vlan);
      return isKnown || !(name === portId || name.startsWith(`${portId}.`)) ? [] : line;
    });
    return [portId, [...withoutAgreed(lines, configured), ...more]] as const;
  });
  const vlans = vlanElements(instances).map((each) => readVlan(textAt(each, 'vlan-id')));
  return {
    ...knownPorts(sections, words, configuredVlans),
    carried: carriedBy(sections, carriedVlans),
    vlans: vlans.includes(undefined) ? 'unknown' : new Set(vlans.flatMap((vlan) => vlan ?? [])),
  };
}

/** A switch that has nothing of what was asked sends an empty `data`. */
function requireData(answer: string): void {
  if (elementsAt(JSON.parse(answer), 'data').length === 0) throw notUnderstood('has no data', answer);
}

/** `ethernet switched-vlan config access-vlan 100` */
function pathsOf({ name, children, text }: XmlElement): string[] {
  if (children.length === 0) return [`${name} ${text}`.trim()];
  return children.flatMap(pathsOf).map((below) => `${name} ${below}`);
}

interface Mention {
  readonly line: string;
  readonly name: string;
  readonly vlan: number | undefined;
}

/** Names of interfaces in instances of networks other than the default one, at ends of wires, and among members of VLANs. */
function mentionsIn(instances: string): readonly Mention[] {
  const all = elementsAt(JSON.parse(instances), 'data', 'network-instances', 'network-instance');
  return all.flatMap((instance) => {
    const name = textAt(instance, 'name') ?? '';
    const listed = ['config', 'state'].flatMap((place) =>
      elementsAt(instance, 'interfaces', 'interface', place, 'interface'),
    );
    const types = ['config', 'state'].flatMap((place) => elementsAt(instance, place, 'type')).map(({ text }) => text);
    const isDefault = name === 'default' || types.some((type) => /(^|:)DEFAULT_INSTANCE$/.test(type));
    const ids = isDefault ? [] : [...elementsAt(instance, 'interfaces', 'interface', 'id'), ...listed];
    const members = elementsAt(instance, 'vlans', 'vlan').flatMap((vlan) => {
      const id = textAt(vlan, 'vlan-id') ?? '';
      return elementsAt(vlan, 'members', 'member', 'state', 'interface').map(({ text }) => ({
        line: `network-instance ${name} vlan ${id} member ${text}`,
        name: text,
        vlan: readVlan(id),
      }));
    });
    // a wire to elsewhere, which the default one may have, too
    const wired = ['config', 'state'].flatMap((place) =>
      elementsAt(
        instance,
        'connection-points',
        'connection-point',
        'endpoints',
        'endpoint',
        'local',
        place,
        'interface',
      ),
    );
    const uses = new Set([...ids, ...wired].map(({ text }) => text));
    return [
      ...[...uses].map((each) => ({ line: `network-instance ${name} interface ${each}`, name: each, vlan: undefined })),
      ...members,
    ];
  });
}

/** Leaves that say a port's networks, and those that don't, of all that the switch says of it. */
const words: KnownWords = {
  networks: [
    /^config enabled (true|false)$/,
    /^(ethernet|aggregation) switched-vlan config (interface-mode|access-vlan|native-vlan|trunk-vlans) \S+$/,
    /^ethernet config aggregate-id \S+$/,
  ],
  apart: [
    /^name /,
    /^config (name|type|mtu|loopback-mode|description|forwarding-viable|load-interval)( |$)/,
    /^config tpid (\S+:)?TPID_0X8100$/,
    /^(hold-time|penalty-based-aied|rates) ?/,
    /^state (?!(enabled|admin-status|oper-status)( |$))/,
    // what says that it is up where the configuration does not forbid it
    /^(config|state)( (enabled|admin-status|oper-status))?$/,
    /^(ethernet|aggregation) config (mac-address|auto-negotiate|duplex-mode|port-speed|enable-flow-control|fec-mode|fec-encoding|standalone-link-training|lag-type|min-links|lacp)( |$)/,
    /^(ethernet|aggregation) state (?!aggregate-id )/,
    /^(ethernet|aggregation)( config| state| switched-vlan( config| state)?)?$/,
    /^ethernet (poe|phy) ?/,
    /^ethernet authenticated-sessions$/,
    // a unit that nothing is said of
    /^subinterfaces( subinterface( index 0| (config|state)( (index|name|enabled|description) .*)?| ipv[46] config enabled false)?)?$/,
  ],
};

const upWords = /^state (enabled true|(admin|oper)-status (?!DOWN$|LOWER_LAYER_DOWN$|NOT_PRESENT$).*)$/;
const stateVlans = /^(ethernet|aggregation) switched-vlan state ./;

/** Leaves out what is in effect where it is what is configured: it says nothing more. */
function withoutAgreed(lines: readonly string[], configured: FoundVlans): readonly string[] {
  const inEffect = vlansOf(lines, 'state');
  const isSame = inEffect !== undefined && configured !== 'other' && sameVlans(inEffect, configured);
  const isOff = saidAt(lines, 'config enabled').includes('false');
  const bond = saidAt(lines, 'ethernet config aggregate-id');
  return lines.filter((line) => {
    if (stateVlans.test(line)) return !isSame;
    if (/^state (enabled|(admin|oper)-status) /.test(line)) return isOff && upWords.test(line);
    const inBond = /^ethernet state aggregate-id (.*)$/.exec(line)?.[1];
    return inBond === undefined || !bond.includes(inBond);
  });
}

/** Each value once. */
function saidAt(lines: readonly string[], path: string): readonly string[] {
  return [...new Set(lines.flatMap((line) => (line.startsWith(`${path} `) ? line.slice(path.length + 1) : [])))];
}

function configuredVlans(lines: readonly string[]): FoundVlans {
  if (saidAt(lines, 'ethernet config aggregate-id').length > 0) return 'other';
  const enabled = saidAt(lines, 'config enabled');
  const isEnabled = enabled.length === 0 || enabled.includes('true');
  const vlans = vlansOf(lines, 'config');
  if (vlans === undefined) return isEnabled ? 'other' : isolated;
  return isEnabled ? vlans : 'other';
}

const withoutVlans = /^((config|state) type (\S+:)?(softwareLoopback|l3ipvlan|tunnel)|state management true)$/;
const ofVlans = / switched-vlan (config|state) .|^network-instance |^ethernet (config|state) aggregate-id /;

/** Loopbacks, VLANs' own interfaces, the management port and routed ports carry no VLAN of the switch. */
function carriedVlans(lines: readonly string[]): readonly number[] | undefined {
  if (lines.some((line) => ofVlans.test(line))) return undefined;
  const isRouted = lines.some((line) => /^subinterfaces subinterface ipv[46] addresses address ./.test(line));
  return isRouted || lines.some((line) => withoutVlans.test(line)) ? [] : undefined;
}

/** `undefined` where nothing is said; what is said twice, in different ways, is `other`. */
function vlansOf(lines: readonly string[], place: 'config' | 'state'): FoundVlans | undefined {
  const found = ['ethernet', 'aggregation'].flatMap((container): FoundVlans[] => {
    const path = `${container} switched-vlan ${place}`;
    if (!lines.some((line) => line.startsWith(`${path} `))) return [];
    const [mode, ...modes] = saidAt(lines, `${path} interface-mode`);
    const [access, ...accesses] = saidAt(lines, `${path} access-vlan`);
    const [native, ...natives] = saidAt(lines, `${path} native-vlan`);
    if (modes.length > 0 || accesses.length > 0 || natives.length > 0) return ['other'];
    const lists = saidAt(lines, `${path} trunk-vlans`);
    // SONiC's untagged VLAN of a trunk is its access VLAN, which other switches only remember
    if (access !== undefined && (mode === 'TRUNK' || lists.length > 0)) return ['other'];
    if (mode === 'ACCESS') {
      const only = readVlan(access);
      return [only === undefined ? 'other' : portVlans(only)];
    }
    const trunks = readVlans(lists.map((text) => text.replace('..', '-')).join());
    const untagged = readVlan(native);
    if (mode !== 'TRUNK' || !trunks || (native !== undefined && untagged === undefined)) return ['other'];
    return [portVlans(untagged, trunks)];
  });
  const [only, ...more] = found;
  return more.length > 0 ? 'other' : only;
}

/** A member by its configuration or by what is in effect. */
export function readOpenconfigBonds([ports = '']: readonly string[]): Map<string, Membership> {
  const all = interfacesIn(ports);
  const saidOf = (name: string, ...path: readonly string[]): ReadonlySet<string> =>
    new Set(
      all
        .filter((each) => textAt(each, 'name') === name)
        .flatMap((each) => {
          const [container = '', leaf = ''] = path;
          return ['config', 'state'].flatMap((place) =>
            elementsAt(each, container, place, leaf).map(({ text }) => text),
          );
        }),
    );
  return new Map(
    all.flatMap((each) => {
      const portId = textAt(each, 'name') ?? '';
      const [name, ...more] = saidOf(portId, 'ethernet', 'aggregate-id');
      if (name === undefined || name === '') return [];
      const [type, ...types] = saidOf(name, 'aggregation', 'lag-type');
      const isClear = more.length === 0 && types.length === 0;
      const mode = isClear && type === 'LACP' ? 'lacp' : isClear && type === 'STATIC' ? 'static' : 'other';
      return [[portId, { name, mode, acrossPair: false }] as const];
    }),
  );
}
