import { isMapping } from '#conductor/sites/site-document.ts';

interface LabelFault {
  readonly path: readonly (string | number)[];
  /** `must be …` */
  readonly message: string;
  /** The message repeats the value. */
  readonly quotesValue?: true;
}

/**
 * A selector's `node_labels` as pairs: a list of `key: value` mappings and of texts `"key: value"` with exactly one
 * colon, in any mixture, or one mapping. Blanks around keys and values do not count. Pure.
 */
export function readLabels(value: unknown): {
  readonly labels: (readonly [string, string])[];
  readonly faults: LabelFault[];
} {
  const labels: (readonly [string, string])[] = [];
  const faults: LabelFault[] = [];
  const fromMapping = (mapping: Readonly<Record<string, unknown>>, path: readonly (string | number)[]): void => {
    for (const [key, given] of Object.entries(mapping)) {
      if (typeof given === 'string') add(key, given, [...path, key]);
      else faults.push({ path: [...path, key], message: textRule(given) });
    }
  };
  const add = (key: string, given: string, path: readonly (string | number)[]): void => {
    const [left, right] = [key.trim(), given.trim()];
    if (/\p{Cc}/u.test(left + right)) faults.push({ path, message: 'must have no control characters' });
    else if (left !== '' && right !== '') labels.push([left, right]);
    else faults.push({ path, message: `must have a key and a value: "rack_kind: dense"` });
  };
  if (isMapping(value)) {
    fromMapping(value, []);
    return { labels, faults };
  }
  if (!Array.isArray(value)) {
    return { labels, faults: [{ path: [], message: 'must be a list of labels, each "key: value"' }] };
  }
  for (const [index, item] of value.entries()) {
    if (isMapping(item)) fromMapping(item, [index]);
    else if (typeof item !== 'string') faults.push({ path: [index], message: 'must be "key: value"' });
    else {
      const parts = item.split(':');
      if (parts.length === 2) add(parts[0] ?? '', parts[1] ?? '', [index]);
      else {
        const message = `is ${JSON.stringify(item)}, which has ${parts.length - 1} colons; it must have exactly one: "key: value"`;
        faults.push({ path: [index], message, quotesValue: true });
      }
    }
  }
  return { labels, faults };
}

/** YAML reads 1.10 as 1.1 and yes or True in its own way: what is to be compared as text must be text. */
function textRule(given: unknown): string {
  const isBare = typeof given === 'number' || typeof given === 'boolean';
  return isBare ? 'must be text: put it into quotes' : 'must be text';
}
