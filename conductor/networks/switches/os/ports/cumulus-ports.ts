import { z } from 'zod';
import { type FoundVlans, isolated, portVlans, readVlan, readVlans } from '#conductor/model/port-vlans.ts';
import { type KnownWords, knownPorts, leavesOf } from '#conductor/networks/switches/command-line/lines/known-ports.ts';
import { parseAnswer } from '#conductor/networks/switches/command-line/lines/parse-answer.ts';
import type { Membership, SwitchSnapshot } from '#conductor/networks/switches/command-line/switch-os.ts';
import {
  type InterfaceSettings,
  isTree,
  mayMean,
  namesIn,
  ofKind,
  perInterface,
} from '#conductor/networks/switches/os/ports/cumulus-keys.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Reads what NVUE's configuration says of ports: in their own settings, and wherever else a port is named. Pure. */

export const bridge = 'br_default';

const Tree = z.record(z.string(), z.unknown());
const Config = z.array(
  z.looseObject({
    set: z
      .looseObject({
        interface: Tree.default({}),
        bridge: z
          .looseObject({ domain: z.record(z.string(), z.looseObject({ vlan: Tree.default({}) })).default({}) })
          .optional(),
      })
      .optional(),
  }),
);

interface Read {
  readonly shown: ReadonlyMap<string, unknown>;
  readonly set: readonly z.infer<typeof SetPart>[];
  readonly settings: InterfaceSettings;
}
const SetPart = Config.element.shape.set.unwrap();

function readAnswers(interfaces: string | undefined, config: string | undefined): Read {
  const live = Object.entries(parseAnswer(Tree, interfaces));
  const shown = new Map(live.flatMap(([key, its]) => shownAs(key).map((name) => [name, its] as const)));
  const set = parseAnswer(Config, config).flatMap((part) => part.set ?? []);
  const settings = perInterface(
    set.map((part) => part.interface),
    new Set(shown.keys()),
    (section) => apartSections.includes(section),
  );
  return { shown, set, settings };
}

function shownAs(key: string): readonly string[] {
  const names = namesIn(key) ?? [];
  return names.length > 1 ? names : [key];
}

export function readCumulusPorts([interfaces, config]: readonly string[]): SwitchSnapshot {
  const { shown, set, settings } = readAnswers(interfaces, config);
  if (set.length === 0) throw notByNvue;
  const vlans = set.flatMap((part) => Object.keys(part.bridge?.domain[bridge]?.vlan ?? {})).map(readVlans);
  const mentions = mentionsIn(set, new Set(shown.keys()));
  const sections = [...shown].map(([portId, live]) => {
    const own = settings.byName.has(portId) ? leavesOf(settings.byName.get(portId)) : [];
    const isBridged = own.some((line) => line.startsWith('bridge '));
    const odds = settings.atOdds.get(portId);
    const more = [
      ...mentions.flatMap((mention) => mention(portId) ?? []),
      ...settings.unexpanded
        .filter((key) => mayMean(key, portId))
        .map((key) => unsure(`nv set interface ${key}`, portId)),
      ...(odds ? [`nv set interface ${odds.join(' and ')}, which overlap`] : []),
      ...(isBridged ? [] : linesInEffect(live)),
    ];
    return [portId, [...own, ...more]] as const;
  });
  return {
    ...knownPorts(sections, words, (lines, portId) => vlansOf(lines, settings.byName.get(portId)), [
      ...settings.byName.keys(),
      ...shown.keys(),
    ]),
    vlans: vlans.includes(undefined) ? 'unknown' : new Set(vlans.flatMap((its) => its ?? [])),
  };
}

const notByNvue = new AppError(
  'switch_error',
  'the switch has no configuration by NVUE: its ports may be in bridges of /etc/network/interfaces, which Baton does not read',
);

const unsure = (line: string, portId: string): string => `${line} (which may mean ${portId})`;

/** Lists what the switch does with the port without its configuration by NVUE saying so. */
function linesInEffect(live: unknown): string[] {
  if (!isTree(live)) return [`in effect: ${JSON.stringify(live)}`];
  if (live['bridge'] === undefined) return [];
  return leavesOf(live['bridge'])
    .filter((line) => line !== 'domain')
    .map((line) => `in effect: bridge ${line}`);
}

/** Says how the configuration names the port, in words for `nv`; `undefined` where it does not. */
type Mention = (portId: string) => string | undefined;

function mentionsIn(set: readonly unknown[], shown: ReadonlySet<string>): readonly Mention[] {
  return set
    .flatMap((part) => [...waysIn(part, [])])
    .flatMap((way) => {
      const word = way.at(-1) ?? '';
      // its own settings
      if (way[0] === 'interface' && way.length <= 2) return [];
      const isForPorts = /^(member|interface|base-interface)$/.test(way.at(-2) ?? '');
      if (!isForPorts && !/\d/.test(word)) return [];
      const line = `nv set ${way.join(' ')}`;
      const names = namesIn(word, shown);
      if (names) return [(portId) => (names.some((name) => isPartOf(name, portId)) ? line : undefined)];
      const may = isForPorts ? mayMean : ofKind;
      return [(portId) => (may(word, portId) ? unsure(line, portId) : undefined)];
    });
}

const isPartOf = (name: string, portId: string): boolean => name === portId || name.startsWith(`${portId}.`);

/** The way to each key, and to each value that is a word. */
function* waysIn(tree: unknown, way: readonly string[]): Generator<readonly string[]> {
  if (typeof tree === 'string') yield [...way, tree];
  if (Array.isArray(tree)) for (const each of tree) yield* waysIn(each, way);
  if (!isTree(tree)) return;
  for (const [key, below] of Object.entries(tree)) {
    yield [...way, key];
    yield* waysIn(below, [...way, key]);
  }
}

const apartSections: readonly string[] = [
  'type',
  'description',
  'qos',
  'acl',
  'ptp',
  'lldp',
  'sflow',
  'telemetry',
  'link',
  'storm-control',
  'port-security',
  'pluggable',
  'synce',
];

/** Words of `leavesOf` an interface, and of mentions elsewhere; a bridge of another name is none of Baton's. */
const words: KnownWords = {
  networks: [
    new RegExp(`^bridge domain ${bridge}( access \\d+| untagged (\\d+|none)| vlan [\\d,-]+)?$`),
    /^ip address [\da-fA-F.:/]+( .*)?$/,
    /^nv set interface \S+ bond member \S+$/,
  ],
  apart: [
    new RegExp(`^(${[...apartSections, 'bond'].join('|')})( |$)`),
    new RegExp(`^bridge domain ${bridge} (stp|learning) `),
    /^(ip|bridge)( address| domain)?$/,
    /^ip (ipv4|ipv6|neighbor-discovery|igmp) (enable off|forward off)$/,
    // what is said of a port there is not which frames it takes
    /^nv set (acl|qos|service|router policy|platform|maintenance|system (aaa|config|control-plane|hostname|message|telemetry|wjh)) /,
    /^nv set interface \S+ (acl|description|qos) /,
    /^nv set system port-mirror session \S+ (span|erspan) source-port /,
  ],
};

const Domain = z.looseObject({
  access: z.number().optional(),
  untagged: z.union([z.number(), z.string()]).optional(),
  vlan: Tree.optional(),
});
const Bridged = z.looseObject({
  bridge: z.looseObject({ domain: z.record(z.string(), Domain).optional() }).optional(),
});

function vlansOf(lines: readonly string[], settings: unknown): FoundVlans {
  const parsed = Bridged.safeParse(settings ?? {});
  if (!parsed.success) return 'other';
  const domain = parsed.data.bridge?.domain?.[bridge];
  if (!domain) return lines.length === 0 ? isolated : 'other';
  const { access, untagged, vlan } = domain;
  // an address, or a bond
  if (lines.some((line) => !line.startsWith('bridge '))) return 'other';
  if (access !== undefined) {
    const only = readVlan(access);
    return only === undefined || untagged !== undefined || vlan !== undefined ? 'other' : portVlans(only);
  }
  const tagged = readVlans(Object.keys(vlan ?? {}).join());
  // without settings it carries all of the bridge, and VLAN 1 untagged
  if (!tagged || untagged === undefined) return 'other';
  if (untagged === 'none') return portVlans(undefined, tagged);
  const native = readVlan(untagged);
  return native === undefined ? 'other' : portVlans(native, tagged);
}

const Bond = z.looseObject({
  member: Tree.default({}),
  mode: z.string().default('lacp'),
  mlag: z.unknown().optional(),
});

/** Members that are not told for certain are left out: their ports have `other` VLANs. */
export function readCumulusBonds([interfaces, config]: readonly string[]): Map<string, Membership> {
  const { shown, settings } = readAnswers(interfaces, config);
  return new Map(
    [...settings.byName].flatMap(([name, its]) => {
      if (!isTree(its) || its['bond'] === undefined) return [];
      const bond = Bond.safeParse(its['bond']);
      if (!bond.success) throw unreadBond(name, its['bond']);
      const mode = bond.data.mode === 'lacp' || bond.data.mode === 'static' ? bond.data.mode : 'other';
      const acrossPair = bond.data.mlag !== undefined;
      const ports = Object.keys(bond.data.member).flatMap((key) => namesIn(key, new Set(shown.keys())) ?? []);
      return ports.map((portId) => [portId, { name, mode, acrossPair }] as const);
    }),
  );
}

const unreadBond = (name: string, settings: unknown): AppError =>
  new AppError(
    'switch_error',
    `the switch has bond settings of ${name} in a form that Baton does not know (${JSON.stringify(settings).slice(0, 200)}): any port may be a member`,
  );
