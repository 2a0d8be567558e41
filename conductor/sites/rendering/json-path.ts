import { RenderError } from '#conductor/sites/rendering/deckhand-metadata.ts';
import { isMapping } from '#conductor/sites/site.ts';

/** Keys of mappings and indexes of lists, from the outermost in; empty = the whole. */
type JsonPath = readonly (string | number)[];

const deepest = 64;
/** Empty mappings that a list gets at most before a value. */
const mostPadding = 1_000;
const part = /\[(\d{1,6})\]|\.?\['([^']+)'\]|\.?\["([^"]+)"\]|\.'([^']+)'|\."([^"]+)"|\.([^.[\]'"*?]+)/y;

/**
 * A path as Deckhand's documents have it: `.` (the whole), `.a.b[0].c`, `$.a`, `.'a.b'`, `.['a.b']`.
 * @throws RenderError `InvalidPath`; what selects several values at once (`*`, `..`) is one
 */
export function parseJsonPath(text: string): JsonPath {
  if (text === '.' || text === '$') return [];
  const stripped = text.startsWith('$') ? text.slice(1) : text;
  const source = /^[.[]/.test(stripped) ? stripped : `.${stripped}`;
  const path: (string | number)[] = [];
  for (let at = 0; at < source.length; at = part.lastIndex) {
    part.lastIndex = at;
    const found = part.exec(source);
    const [, index, ...keys] = found ?? [];
    const key = index === undefined ? keys.find((each) => each !== undefined) : Number(index);
    if (key === undefined || key === '__proto__' || path.length === deepest) {
      throw new RenderError('InvalidPath', `path ${JSON.stringify(text)} can't be used; it must be like .a.b[0].c`);
    }
    path.push(key);
  }
  return path;
}

/** Finds the value that stands there; `undefined` when nothing does. */
export function valueAt(root: unknown, path: JsonPath): unknown {
  return path.reduce<unknown>((at, key) => {
    if (typeof key === 'number') return Array.isArray(at) ? (at[key] as unknown) : undefined;
    return isMapping(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }, root);
}

/**
 * The same with another value there; what is missing on the way is made, and a list that is too short gets
 * empty mappings, as in Deckhand. What isn't on the way is shared, not copied.
 * @throws RenderError `InvalidPath` where a list or a single value stands in the way
 */
export function withValueAt(root: unknown, path: JsonPath, value: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  if (typeof key === 'number') {
    const list: unknown[] = root === undefined || root === null ? [] : requireList(root, key);
    if (key > list.length + mostPadding) {
      throw new RenderError('InvalidPath', `index ${key} is far beyond the end of a list of ${list.length}`);
    }
    const padding = Array.from({ length: Math.max(0, key - list.length) }, () => ({}));
    return [...list, ...padding].toSpliced(key, 1, withValueAt(list[key], rest, value));
  }
  if (root !== undefined && root !== null && !isMapping(root)) {
    throw new RenderError('InvalidPath', `${key} is not within a mapping`);
  }
  const within = root ?? {};
  return { ...within, [key]: withValueAt(Object.hasOwn(within, key) ? within[key] : undefined, rest, value) };
}

/** The same without what stands there. */
export function withoutValueAt(root: unknown, path: JsonPath): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return {};
  if (typeof key === 'number') {
    const list = requireList(root, key);
    return rest.length === 0 ? list.toSpliced(key, 1) : list.toSpliced(key, 1, withoutValueAt(list[key], rest));
  }
  if (!isMapping(root)) return root;
  if (rest.length > 0) return { ...root, [key]: withoutValueAt(root[key], rest) };
  return Object.fromEntries(Object.entries(root).filter(([each]) => each !== key));
}

function requireList(value: unknown, index: number): unknown[] {
  if (Array.isArray(value)) return value;
  throw new RenderError('InvalidPath', `[${index}] is not within a list`);
}
