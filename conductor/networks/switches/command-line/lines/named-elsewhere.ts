import { isLogged } from '#conductor/networks/switches/command-line/lines/interface-sections.ts';

/**
 * Uses of ports that a running configuration says outside of their sections: a session of mirroring, the link to a pair. Pure.
 */

const kind = '(?:(?:ethernet|port-channel|lag) ?)?';
const item = String.raw`${kind}\d[\d/:]*`;
const part = `${item}(?: ?- ?${item})?`;
/** `1/1/1-1/1/2,1/1/4`, `ethernet1/1/25,1/1/26`, `lag 7` */
const list = new RegExp(String.raw`(?<![\w.:/-])${part}(?: ?, ?${part})*(?![\w.])`, 'g');

interface Name {
  readonly kind: string;
  readonly numbers: readonly number[];
}

/**
 * Lines of a text outside of its interfaces' sections that name one of the ports, alone or in a list or range.
 * @param apart forms of lines that put no frame of another's onto the port
 */
export function linesNaming(
  config: string,
  portIds: Iterable<string>,
  apart: readonly RegExp[],
): Map<string, readonly string[]> {
  const spansOfLines = linesOutside(config)
    .filter((line) => apart.every((form) => !form.test(line)))
    .map((line) => ({ line, spans: spansIn(line) }))
    .filter(({ spans }) => spans.length > 0);
  return new Map(
    [...portIds].map((portId) => {
      const name = nameOf(portId, '');
      const naming = spansOfLines.filter(({ spans }) => spans.some(([from, to]) => isWithin(name, from, to)));
      return [portId, naming.map(({ line }) => line)];
    }),
  );
}

function linesOutside(config: string): string[] {
  const found: string[] = [];
  let isInterface = false;
  for (const line of config.split('\n').filter((each) => !isLogged(each))) {
    if (/^\S/.test(line) && !line.startsWith('!')) isInterface = line.startsWith('interface ');
    if (!isInterface && !/^\s*(!|$)/.test(line)) found.push(line.trim());
  }
  return found;
}

function spansIn(line: string): (readonly [from: Name, to: Name])[] {
  return [...line.matchAll(list)].flatMap(([names]) => {
    let last: Name = { kind: '', numbers: [] };
    return names.split(',').map((each) => {
      const [first = '', end = first] = each.split(/(?<!port) ?- ?/);
      const from = nameOf(first.trim(), last.kind);
      const to = nameOf(end.trim(), from.kind);
      // `1/1/1-4`
      const missing = from.numbers.slice(0, Math.max(0, from.numbers.length - to.numbers.length));
      last = from;
      return [from, { kind: from.kind, numbers: [...missing, ...to.numbers] }] as const;
    });
  });
}

function nameOf(text: string, otherwise: string): Name {
  const kindOf = /^[a-z-]+/.exec(text)?.[0] ?? otherwise;
  return { kind: kindOf, numbers: (text.match(/\d+/g) ?? []).map(Number) };
}

function isWithin(name: Name, from: Name, to: Name): boolean {
  if (name.kind !== from.kind || from.numbers.length < Math.min(3, name.numbers.length)) return false;
  return compare(from.numbers, name.numbers) <= 0 && compare(name.numbers, to.numbers) <= 0;
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
