import { AppError } from '#shared/errors/app-error.ts';

/** NVUE's keys for several interfaces at once, which it writes where their settings are alike. Pure. */

/** `swp1-3,swp5`, `swp1s0-3`, `bond1,3-4` → each name; a name that stands for one alone is itself. */
export function namesIn(key: string): string[] {
  let head = '';
  return key.split(',').flatMap((part) => {
    const [, start = '', first, last = first] = /^(.*?)(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    // `swp1-2` and `bond1,3`: a number alone is of the kind before it; `vlan10_l3` ends in no number and is one name
    if (first === undefined) return isName(part) ? [part] : refuse(key);
    if (start !== '') head = start;
    if (!/^[A-Za-z][\w.]*$/.test(head)) return isName(part) ? [part] : refuse(key);
    const count = Number(last) - Number(first) + 1;
    if (count < 1 || count > 4096) return refuse(key);
    return Array.from({ length: count }, (_, index) => `${head}${Number(first) + index}`);
  });
}

const isName = (name: string): boolean => /^[A-Za-z][\w.-]*$/.test(name) && !/\d-\d/.test(name);

function refuse(key: string): never {
  throw new AppError(
    'switch_error',
    `the switch has settings of interfaces ${JSON.stringify(key)}, a form that Baton does not know: any port may be one of them`,
  );
}

type Tree = Readonly<Record<string, unknown>>;

/** Each interface's settings: its own over those of ranges, narrower ranges over wider ones. */
export function perInterface(parts: readonly Tree[]): Map<string, Tree> {
  const entries = parts
    .flatMap((part) => Object.entries(part))
    .map(([key, settings]) => ({ names: namesIn(key), settings }));
  const merged = new Map<string, Tree>();
  for (const { names, settings } of entries.toSorted((a, b) => b.names.length - a.names.length))
    for (const name of names) merged.set(name, merge(merged.get(name) ?? {}, settings) as Tree);
  return merged;
}

function merge(under: unknown, over: unknown): unknown {
  if (!isTree(under) || !isTree(over)) return over;
  const keys = new Set([...Object.keys(under), ...Object.keys(over)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, key in over ? (key in under ? merge(under[key], over[key]) : over[key]) : under[key]]),
  );
}

function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null;
}
