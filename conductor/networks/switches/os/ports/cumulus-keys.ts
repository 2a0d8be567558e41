/** NVUE's keys for several interfaces at once, which it writes where their settings are alike. Pure. */

/**
 * Expands `swp1-3,swp5`, `swp1-3,5`, `swp1-swp3`, `swp[1-3,5]`, `swp1-2s0-3`; a name that stands for one alone is itself.
 * `undefined` = a form that is not known: `mayMean` says for which ports it counts.
 * @param shown names that the switch has: whatever they look like, each is one
 */
export function namesIn(key: string, shown: ReadonlySet<string> = new Set()): readonly string[] | undefined {
  if (shown.has(key)) return [key];
  let head = '';
  const names: string[] = [];
  for (const part of key.split(/,(?![^[]*\])/).map((each) => each.trim())) {
    // `swp1-2` and `bond1,3`: a number alone is of the kind before it
    const its = expand(/^\d+(-\d+)?$/.test(part) && head !== '' ? head + part : part, shown);
    if (!its || names.length + its.length > most) return undefined;
    head = /^(.*?)(?:\d+(?:-\d+)?|\[[^\]]*\])$/.exec(part)?.[1] || head;
    names.push(...its);
  }
  return names;
}

const most = 4096;
const numbers = String.raw`\d+(?:-\d+)?`;
const piece = new RegExp(String.raw`${numbers}|\[${numbers}(?:,${numbers})*\]|[A-Za-z_]+|\.(?=\d)`, 'gy');

function expand(part: string, shown: ReadonlySet<string>): readonly string[] | undefined {
  if (shown.has(part)) return [part];
  // a word may be one for all of them
  if (/^[A-Za-z]*$/.test(part)) return alone.has(part) ? [part] : undefined;
  const range = part.replace(/^(.*[A-Za-z].*?)(\d+)-\1(\d+)$/, '$1$2-$3');
  const pieces = range.match(piece) ?? [];
  if (pieces.join('') !== range || !/^[A-Za-z]/.test(range)) return undefined;
  let names: readonly string[] | undefined = [''];
  for (const each of pieces) {
    const ends = /^[[\d]/.test(each) ? numbersIn(each) : [each];
    if (!names || !ends || names.length * ends.length > most) return undefined;
    names = names.flatMap((name) => ends.map((end) => `${name}${end}`));
  }
  return names;
}

const alone: ReadonlySet<string> = new Set(['lo', 'mgmt', 'peerlink']);

/** `1-3`, `[1-3,5]`; `undefined` for one that goes down, or on without end. */
function numbersIn(text: string): readonly number[] | undefined {
  const ranges = text.replaceAll(/[[\]]/g, '').split(',');
  const lists = ranges.map((range) => {
    const [from = 0, to = from] = range.split('-').map(Number);
    return to < from || to - from >= most
      ? undefined
      : Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
  return lists.includes(undefined) ? undefined : lists.flatMap((list) => list ?? []);
}

/** Whether a key of a form that is not known may stand for the port: one of the port's kind, or of none (`all`, `*`). */
export function mayMean(key: string, portId: string): boolean {
  const isOfNone = (part: string): boolean => !alone.has(part) && !/^[A-Za-z].*\d/.test(part);
  return key.split(',').some((part) => isOfNone(part.trim())) || ofKind(key, portId);
}

/** Whether a part of it begins as the port does: `swp1..3`. */
export function ofKind(key: string, portId: string): boolean {
  const kind = /^[A-Za-z]+/.exec(portId)?.[0] ?? '';
  return key.split(/[\s,]+/).some((part) => /^[A-Za-z]*/.exec(part)?.[0] === kind && part !== kind);
}

export type Tree = Readonly<Record<string, unknown>>;

export interface InterfaceSettings {
  /** Each interface's settings: its own over those of ranges, narrower ranges over wider ones. */
  readonly byName: ReadonlyMap<string, unknown>;
  /** Keys that count for every port that they may mean. */
  readonly unexpanded: readonly string[];
  /** Keys that speak of the same of an interface, and none of which is narrower, by its name. */
  readonly atOdds: ReadonlyMap<string, readonly string[]>;
}

/** @param isApart whether a section of settings, such as `link`, may be of either key: its order decides nothing */
export function perInterface(
  parts: readonly Tree[],
  shown: ReadonlySet<string>,
  isApart: (section: string) => boolean,
): InterfaceSettings {
  const all = parts
    .flatMap((part) => Object.entries(part))
    .map(([key, settings]) => ({ key, names: namesIn(key, shown), settings }));
  const entries = all.flatMap(({ key, names, settings }) => (names ? [{ key, names: new Set(names), settings }] : []));
  const byName = new Map<string, unknown>();
  const atOdds = new Map<string, readonly string[]>();
  const widestFirst = entries.toSorted((a, b) => b.names.size - a.names.size);
  for (const [index, { key, names, settings }] of widestFirst.entries()) {
    for (const name of names) {
      byName.set(name, byName.has(name) ? merge(byName.get(name), settings) : settings);
      const rivals = widestFirst
        .slice(0, index)
        .filter((wider) => wider.names.has(name) && ![...names].every((each) => wider.names.has(each)))
        .filter((wider) => speakOfTheSame(wider.settings, settings));
      if (rivals.length > 0) atOdds.set(name, [...rivals.map((each) => each.key), key]);
    }
  }
  return { byName, unexpanded: all.filter(({ names }) => !names).map(({ key }) => key), atOdds };

  function speakOfTheSame(one: unknown, other: unknown): boolean {
    return !isTree(one) || !isTree(other) || Object.keys(one).some((section) => section in other && !isApart(section));
  }
}

function merge(under: unknown, over: unknown): unknown {
  if (!isTree(under) || !isTree(over)) return over;
  const keys = new Set([...Object.keys(under), ...Object.keys(over)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, key in over ? (key in under ? merge(under[key], over[key]) : over[key]) : under[key]]),
  );
}

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
