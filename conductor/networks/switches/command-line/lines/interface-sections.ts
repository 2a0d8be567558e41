import { readVlan } from '#conductor/model/port-vlans.ts';

/**
 * Finds the sections of a running configuration: `interface Ethernet1/1` and the lines below it, which are indented.
 * Names as written, joined.
 */
export function interfaceSections(text: string): Map<string, readonly string[]> {
  return sectionsOf(text, 'interface');
}

/** VLANs whose section has this line and no other, and that no interface is of: `vlan 100`, with `name baton-100` below. */
export function vlansNamedAlone(text: string, lineOf: (vlan: number) => string): number[] {
  const interfaces = [...interfaceSections(text).keys()].map((name) => name.toLowerCase());
  return [...sectionsOf(text, 'vlan')].flatMap(([name, lines]) => {
    const vlan = Number(name);
    const isOurs = lines.length === 1 && lines[0] === lineOf(vlan);
    return isOurs && !interfaces.includes(`vlan${vlan}`) ? vlan : [];
  });
}

/** Whether a line is a message of the switch's log, which may come amid an answer: `*Mar  1 00:01:02.003: %LINK-3-UPDOWN: …`. */
export function isLogged(line: string): boolean {
  return /^([*.]?[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d|\d{4}[-/]\d\d[-/]\d\d[T ])|^[^ ]*%[A-Z][\w-]*-\d-\w+: /.test(
    line,
  );
}

function sectionsOf(text: string, kind: 'interface' | 'vlan'): Map<string, readonly string[]> {
  const sections = new Map<string, string[]>();
  const head = new RegExp(`^${kind} (\\S.*?)\\s*$`);
  let lines: string[] | undefined;
  for (const line of text.split('\n')) {
    const name = head.exec(line)?.[1]?.replace(/\s+/g, '');
    if (name !== undefined) {
      lines = [];
      sections.set(name, lines);
    } else if (/^\s+\S/.test(line)) lines?.push(line.trim());
    else if (!/^\s*!?\s*$/.test(line) && !isLogged(line)) lines = undefined;
  }
  return sections;
}

/** The number at the end of the line that begins so; `undefined` when there is none. */
export function numberAfter(lines: readonly string[], beginning: string): number | undefined {
  const line = lines.find((each) => each.startsWith(`${beginning} `));
  const number = Number(line?.slice(beginning.length + 1));
  return line !== undefined && Number.isInteger(number) ? number : undefined;
}

/** The VLAN of the line that begins so, `otherwise` without such a line; `undefined` where the line has something else. */
export function vlanAfter(lines: readonly string[], beginning: string, otherwise: number | undefined) {
  return lines.some((line) => line.startsWith(`${beginning} `)) ? readVlan(numberAfter(lines, beginning)) : otherwise;
}

/**
 * The VLANs of a table whose lines begin with their number, perhaps behind a code: `*   1`, `M 30`, `@ 100`. Each switch has one
 * at least: a table without any was not read.
 */
export function vlansInTable(text: string): ReadonlySet<number> | 'unknown' {
  return knownVlans([...text.matchAll(/^\s*(?:[*@#A-Z]{1,2}\s*)?(\d{1,4})\s/gm)].map((match) => readVlan(match[1])));
}

/** VLANs of a list of all: one that was not read makes them `unknown`, and so does none at all. */
export function knownVlans(vlans: readonly (number | undefined)[]): ReadonlySet<number> | 'unknown' {
  const known = vlans.filter((vlan) => vlan !== undefined);
  return known.length === 0 || known.length < vlans.length ? 'unknown' : new Set(known);
}

/** Ports whose last numbers follow each other, in their order; `first` is `last` for one that stands alone. */
export function spans(portIds: readonly string[]): { readonly first: string; readonly last: string }[] {
  const parts = portIds.map((portId) => {
    const [, head = portId, number = ''] = /^(.*\/)(\d+)$/.exec(portId) ?? [];
    return { portId, head, number: Number(number) };
  });
  const found: { head: string; first: string; last: string; number: number }[] = [];
  for (const { portId, head, number } of parts.sort((a, b) => a.number - b.number)) {
    const before = found.find((span) => number > 0 && span.head === head && span.number === number - 1);
    if (before) Object.assign(before, { last: portId, number });
    else found.push({ head, first: portId, last: portId, number });
  }
  return found.map(({ first, last }) => ({ first, last }));
}

/** `Ethernet1/1` and `port-channel7` are of two kinds. */
export function byKind(portIds: readonly string[]): string[][] {
  return [...Map.groupBy(portIds, (portId) => portId.replace(/\d.*$/, '')).values()];
}
