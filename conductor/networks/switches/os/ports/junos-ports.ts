import { type FoundVlans, isolated, portVlans, readVlan, readVlans } from '#conductor/model/port-vlans.ts';
import { carriedBy, type KnownWords, knownPorts } from '#conductor/networks/switches/command-line/lines/known-ports.ts';
import {
  type NamingLine,
  namingLines,
  requireLinesOf,
  requireWhole,
} from '#conductor/networks/switches/os/ports/junos-elsewhere.ts';
import { isInRange, isWildcard, mayMean, rangesIn } from '#conductor/networks/switches/os/ports/junos-ranges.ts';

/** Reads ports of Junos from lines of `display set`: with what they inherit, and without. Pure. */

export interface JunosTexts {
  /** `show interfaces terse` */
  readonly terse: string;
  /** Lines of interfaces and VLANs, with inherited lines in their places. */
  readonly inherited: string;
  readonly vlans: string;
  /** Lines of interfaces, as written; `undefined` where it was not asked. */
  readonly written: string | undefined;
  /** The answer to `elsewhereCommand`. */
  readonly elsewhere: string;
}

const switching = 'unit 0 family ethernet-switching';
const words: KnownWords = {
  networks: [
    /^unit 0$/,
    new RegExp(`^${switching}( (interface-mode (access|trunk)|vlan members \\S+))?$`),
    // alone, as some models leave the factory, it puts the port into the default VLAN
    new RegExp(`^${switching} (storm-control|recovery-timeout|filter|policer) `),
    /^native-vlan-id \d+$/,
    /^(gigether|ether)-options 802\.3ad ae\d+$/,
  ],
  apart: [
    /^(description|mtu|speed|link-mode|hold-time|traps|no-traps|optics-options|media-type|enable|disable|auto-negotiation) ?/,
    /^(no-auto-negotiation|gratuitous-arp-reply|no-gratuitous-arp-request|fec|forwarding-class|keep-address-and-control) ?/,
    /^(gigether|ether)-options ((no-)?(auto-negotiation|flow-control|loopback)|configured-flow-control|speed|link-mode|fec|mdi-mode|mru)( |$)/,
    /^(aggregated-ether-options|esi) ?/,
    /^unit 0 (description|traps|no-traps|enable|statistics)( |$)/,
    /^apply-(groups|groups-except|macro) /,
  ],
};
const putsIntoNetwork = new RegExp(`^(${switching}|native-vlan-id |(gig)?ether-options 802\\.3ad |unit |family )`);

/** @throws AppError `switch_error` for answers that are not lines of the configuration */
export function readJunosPorts(texts: JunosTexts) {
  const { terse, written, elsewhere } = requireAnswers(texts);
  const inherited = joined(texts.inherited, elsewhere, 'interfaces');
  const vlans = joined(texts.vlans, elsewhere, 'vlans');
  // the port itself, not its units
  const names = [...terse.matchAll(/^((?:ge|mge|xe|et)-[\d/:]+|ae\d+)\s/gm)].map((match) => match[1] ?? '');
  const active = linesByPort(inherited);
  const config = written ?? inherited;
  const own = linesByPort(config);
  const interfaces = `${inherited}\n${config}`;
  const allRanges = rangesIn(interfaces);
  const outside = [...namingLines(elsewhere), ...wildcardLines(interfaces), ...linesOfOthers(interfaces)];
  const { numbers, hasUnreadNumbers } = numbersOf(vlans);
  const live = new Set([...terse.matchAll(/^(\S+)\.\d+[ \t]+\S+[ \t]+\S+[ \t]+\S/gm)].map((match) => match[1] ?? ''));
  // a table that ends with a port doesn't say whether its units would follow
  const last = [...terse.matchAll(/^([^\s.]+)\S*[ \t]+(?:up|down)[ \t]+(?:up|down)\b/gm)].at(-1)?.[1];
  const naming = [...vlans.matchAll(/^set vlans (\S+) interface "?([^\s"]+?)"?(?:\.\d+)?(?: .*)?$/gm)];
  const vlanNaming = (portId: string): string | undefined =>
    naming.find(([, , name = '']) => mayMean(name, portId, allRanges))?.[1];
  const asWritten = linesOf(written ?? '');
  const isUnexpanded =
    written !== undefined && hasGroups(written) && [...linesOf(inherited)].every((line) => asWritten.has(line));
  // a configuration names VLANs last, behind all that may name ports
  const isCut = [...linesOf(texts.vlans)].some(
    (line) => line.startsWith('set vlans ') && !linesOf(elsewhere).has(line),
  );
  const fixed = new Map<string, string>();
  const sections = names.map((portId) => {
    const lines = active.get(portId) ?? [];
    const mine = own.get(portId) ?? [];
    const vlan = vlanNaming(portId);
    const given = lines.filter((line) => putsIntoNetwork.test(line) && !mine.includes(line));
    const isGroup = (line: string): boolean => line.startsWith('apply-groups ');
    const ranges = allRanges.filter(
      (range) =>
        isInRange(range, portId) &&
        range.lines.some(
          (line) => putsIntoNetwork.test(line) || (isGroup(line) && (given.length > 0 || written === undefined)),
        ),
    );
    const isSwitched = lines.some((line) => line.startsWith(switching));
    const isMeant = (name: string): boolean =>
      name === 'access-ports' ? isSwitched : mayMean(name, portId, allRanges);
    const others = outside.flatMap(({ line, names: its }) => (its.some(isMeant) ? line : []));
    const why = whyFixed(portId, { given, ranges: ranges.map(({ name }) => name), mine, vlan, others });
    if (why !== undefined) fixed.set(portId, why);
    const isSeen = given.length > 0 || isSwitched;
    // what was asked for and is not there was not expanded
    const unseen = [
      ...(ranges.length > 0 && !isSeen ? ranges.map(({ name }) => `interface-range ${name}`) : []),
      ...(written === undefined ? mine.filter(isGroup) : []),
      ...(isUnexpanded && !isSeen ? ['apply-groups, of which nothing is shown'] : []),
      ...mine.filter((line) => putsIntoNetwork.test(line) && !lines.includes(line)),
      ...(vlan === undefined ? [] : [`vlans ${vlan} interface ${portId}`]),
      ...others,
    ];
    return [portId, [...lines, ...unseen.map((line) => `unseen: ${line}`)]] as const;
  });
  return {
    ...knownPorts(sections, words, (lines, portId) => {
      const found = vlansOf(lines, numbers);
      // a unit that is in use says otherwise
      return found === isolated && (isCut || live.has(portId) || portId === last) ? 'other' : found;
    }),
    carried: carriedBy(sections, (lines) => carriedVlans(lines, numbers)),
    fixed,
    vlans: hasUnreadNumbers ? ('unknown' as const) : new Set([...numbers.values()].flat()),
  };
}

/** Routed ports carry no VLAN of the switch; one that says no VLAN is in that of the name `default`, as ports leave the factory. */
function carriedVlans(lines: readonly string[], numbers: ReadonlyMap<string, readonly number[]>) {
  const its = lines.filter((line) => line.includes('ethernet-switching'));
  if (lines.some((line) => line.startsWith('unseen: '))) return undefined;
  if (its.length === 0) return lines.some((line) => / family (inet6?|mpls|iso)( |$)/.test(line)) ? [] : undefined;
  const isKnown = lines.every((line) => [...words.networks, ...words.apart].some((form) => form.test(line)));
  const isPlain = lines.every(
    (line) => !/ (vlan members|interface-mode trunk)( |$)|^native-vlan-id |802\.3ad /.test(line),
  );
  return isKnown && isPlain ? (numbers.get('default') ?? []) : undefined;
}

/** Finds lines of `set interfaces <ge-*> …`, which stands for several. */
function wildcardLines(config: string): NamingLine[] {
  return [...linesByPort(config)].flatMap(([name, lines]) =>
    isWildcard(name)
      ? [...new Set(lines)].flatMap((line) =>
          words.apart.some((form) => form.test(line)) ? [] : { line: `interfaces ${name} ${line}`, names: [name] },
        )
      : [],
  );
}

/** `set interfaces fab0 fabric-options member-interfaces ge-0/0/1`: an interface that takes frames of another. */
function linesOfOthers(config: string): NamingLine[] {
  return [...linesByPort(config)].flatMap(([owner, lines]) =>
    [...new Set(lines)].flatMap((line) => {
      if (owner === 'interface-range' || isWildcard(owner) || / ?(description|802\.3ad) /.test(line)) return [];
      const names = line.split(' ').filter((word) => portOrUnit.test(word) && word.replace(/\.\d+$/, '') !== owner);
      return names.length === 0 ? [] : { line: `interfaces ${owner} ${line}`, names };
    }),
  );
}

const portOrUnit = /^((ge|mge|xe|et)-[\d/:]+|ae\d+)(\.\d+)?$/;

function hasGroups(config: string): boolean {
  return /^set interfaces (.* )?apply-groups /m.test(config);
}

function linesOf(config: string): ReadonlySet<string> {
  return new Set(config.split('\n').map((line) => line.trim()));
}

/** Lines about each interface, without its name. What is deactivated has a line that says so. */
function linesByPort(config: string): Map<string, string[]> {
  const lines = [...config.matchAll(/^(set|deactivate) interfaces (\S+)(?: (.*?))?\s*$/gm)];
  const groups = Map.groupBy(lines, (line) => line[2] ?? '');
  return new Map(
    [...groups].map(([name, its]) => [
      name,
      its.flatMap(([, verb, , rest = '']) =>
        verb === 'deactivate' ? [`deactivate ${rest}`] : rest === '' ? [] : [rest],
      ),
    ]),
  );
}

/** Numbers of VLANs by their names. */
function numbersOf(vlans: string): { readonly numbers: Map<string, number[]>; readonly hasUnreadNumbers: boolean } {
  const numbers = new Map<string, number[]>();
  let hasUnreadNumbers = false;
  for (const [, name = '', list = ''] of vlans.matchAll(/^set vlans (\S+) vlan-id(?:-list)? (.+?)\s*$/gm)) {
    const read = readVlans(list.replace(/^\[ ?| ?\]$/g, '').replaceAll(' ', ','));
    if (read) numbers.set(name, [...(numbers.get(name) ?? []), ...read]);
    else if (list !== 'none') hasUnreadNumbers = true;
  }
  return { numbers, hasUnreadNumbers };
}

interface Inherited {
  readonly given: readonly string[];
  readonly ranges: readonly string[];
  readonly mine: readonly string[];
  readonly vlan: string | undefined;
  readonly others: readonly string[];
}

/** Why deleting the port's own lines would not take it out of its networks. */
function whyFixed(portId: string, { given, ranges, mine, vlan, others }: Inherited): string | undefined {
  if (ranges.length > 0)
    return `its VLANs come from interface-range ${ranges.join(', ')}: take the port out of the range (delete interfaces interface-range ${ranges[0]} member …)`;
  if (vlan !== undefined) return `vlans ${vlan} names it: delete vlans ${vlan} interface ${portId}`;
  const other = others.find((line) => !line.startsWith(`switch-options voip interface ${portId}.0`));
  if (other !== undefined) return `"${other}" names it: take that away, or leave the port out of it`;
  if (given.length === 0) return undefined;
  const groups = mine.flatMap((line) => /^apply-groups (\S+)$/.exec(line)?.[1] ?? []);
  const from = groups.length === 0 ? 'a group that apply-groups names above it' : `group ${groups.join(', ')}`;
  return `"${given[0]}" comes from ${from}: set interfaces ${portId} apply-groups-except ${groups[0] ?? 'GROUP'}, or take it out of the group`;
}

function vlansOf(settings: readonly string[], numbers: ReadonlyMap<string, readonly number[]>): FoundVlans {
  if (settings.some((line) => line.includes('802.3ad'))) return 'other';
  const natives = settings.flatMap((line) => /^native-vlan-id (\d+)$/.exec(line)?.[1] ?? []);
  const its = settings.filter((line) => line.startsWith(switching));
  if (its.length === 0) return natives.length === 0 ? isolated : 'other';
  const read = its
    .flatMap((line) => / vlan members (\S+)$/.exec(line)?.[1] ?? [])
    .map((name) => numbers.get(name) ?? readVlans(name));
  const members = read.flatMap((each) => each ?? []);
  const [mode, ...modes] = its.flatMap((line) => / interface-mode (\S+)$/.exec(line)?.[1] ?? []);
  const [first, ...more] = members;
  if (first === undefined || read.includes(undefined) || modes.length > 0 || natives.length > 1) return 'other';
  if (mode === 'access') return more.length === 0 && natives.length === 0 ? portVlans(first) : 'other';
  const native = readVlan(natives[0]);
  if (mode !== 'trunk' || (natives.length > 0 && (native === undefined || !members.includes(native)))) return 'other';
  return portVlans(native, members);
}

function requireAnswers(texts: JunosTexts): JunosTexts {
  const { inherited, vlans, written = '', elsewhere } = texts;
  requireWhole(elsewhere);
  for (const text of [inherited, written]) requireLinesOf('interfaces', text);
  requireLinesOf('vlans', vlans);
  return texts;
}

/** Lines of one part: those that were asked for by themselves, and more that the whole configuration has. */
export function joined(text: string, whole: string, part: string): string {
  const known = linesOf(text);
  const more = whole.split('\n').filter((line) => line.startsWith(`set ${part} `) && !known.has(line.trim()));
  return [text.trimEnd(), ...more].join('\n');
}
