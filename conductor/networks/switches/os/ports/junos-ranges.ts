/** Interface ranges of Junos: what they give to the ports that they name. Pure. */

export interface InterfaceRange {
  readonly name: string;
  /** `member ge-0/0/[1-5]` */
  readonly members: readonly string[];
  /** The others. */
  readonly lines: readonly string[];
}

/** From lines of `display set`. */
export function rangesIn(config: string): InterfaceRange[] {
  const lines = config.matchAll(/^set interfaces interface-range (\S+) (.*?)\s*$/gm);
  return [...Map.groupBy(lines, (line) => line[1] ?? '')].map(([name, its]) => {
    const texts = its.map((line) => line[2] ?? '');
    const members = texts.filter((text) => text.startsWith('member'));
    return { name, members, lines: texts.filter((text) => !members.includes(text)) };
  });
}

export function isInRange(range: InterfaceRange, portId: string): boolean {
  return range.members.some((text) => isNamed(text, portId));
}

/** Names of single interfaces, units among them. */
const oneInterface = /^([a-z]+-[\d/:]+|(ae|reth|irb|vlan|lo|me|em|vme|fxp|st|ps|pp|vt|vtep|fab|dsc|jsrv)\d*)(\.\d+)?$/;

/**
 * Whether a name of an interface, as other parts have it, may mean the port: its own, a range that names it, `<ge-*>`, `all`.
 * A form that is not known may.
 */
export function mayMean(name: string, portId: string, ranges: readonly InterfaceRange[]): boolean {
  if (oneInterface.test(name)) return name.replace(/\.\d+$/, '') === portId;
  const range = ranges.find((each) => each.name === name);
  if (range) return isInRange(range, portId);
  const [, form] = /^<?([\w/:*-]+)(?:\.[\d*]+)?>?$/.exec(name) ?? [];
  return form === undefined || !form.includes('*') || patternOf(form).test(portId);
}

/** Interfaces that stand for several: `set interfaces <ge-*> …`. */
export function isWildcard(name: string): boolean {
  return /[<*?[{]/.test(name);
}

/** `member ge-0/0/[1-5]`, `member "ge-*"`, `member-range ge-0/0/1 to ge-0/0/11`. A form that is not known may name any port. */
function isNamed(text: string, portId: string): boolean {
  const [, first, last] = /^member-range "?([^\s"]+)"?(?: to "?([^\s"]+)"?)?$/.exec(text) ?? [];
  if (first !== undefined && last !== undefined) {
    const [from, to, at] = [first, last, portId].map(placeOf);
    if (!from || !to || !at) return !at ? false : from?.kind !== to?.kind;
    return from.kind === at.kind && compare(from.numbers, at.numbers) <= 0 && compare(at.numbers, to.numbers) <= 0;
  }
  const pattern = /^member "?([^\s"]+)"?$/.exec(text)?.[1];
  if (pattern === undefined || /[^\w/:.,\-*[\]]/.test(pattern)) return true;
  return patternOf(pattern).test(portId);
}

function patternOf(pattern: string): RegExp {
  const parts = pattern.match(/\[[\d,-]+\]|\*|[^[\]*]+|[[\]]/g) ?? [];
  const form = parts.map((part) => {
    if (part === '*') return '\\S*';
    return part.startsWith('[') && part.length > 1 ? part : part.replace(/[.+?^${}()|\\]/g, '\\$&');
  });
  return new RegExp(`^${form.map(numberSet).join('')}$`);
}

/** `[0-15,20]` is a set of numbers, not of characters. */
function numberSet(part: string): string {
  const inside = /^\[([\d,-]+)\]$/.exec(part)?.[1];
  if (inside === undefined) return part;
  const numbers = inside.split(',').flatMap((each) => {
    const [from = 0, to = from] = each.split('-').map(Number);
    return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
  });
  return `(${numbers.join('|')})`;
}

function placeOf(portId: string): { kind: string; numbers: number[] } | undefined {
  const [, kind, numbers] = /^([a-z]+)-?([\d/:]+)$/.exec(portId) ?? [];
  return kind === undefined || numbers === undefined ? undefined : { kind, numbers: numbers.split(/[/:]/).map(Number) };
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, number] of a.entries()) {
    // a channel of a port is where its port is
    const difference = number - (b[index] ?? number);
    if (difference !== 0) return difference;
  }
  return 0;
}
