import { mask } from '#conductor/kernel/secrets/mask-document.ts';
import type { Destination, Source } from '#conductor/sites/rendering/deckhand-metadata.ts';
import { parseJsonPath, valueAt, withValueAt } from '#conductor/sites/rendering/json-path.ts';
import { findPart, replacePattern } from '#conductor/sites/rendering/match-pattern.ts';
import { RenderError } from '#conductor/sites/rendering/render-error.ts';
import { isMapping } from '#conductor/sites/site-document.ts';

/**
 * The part of a source's text that `src.pattern` finds; the value itself without pattern, and where it isn't found. Pure.
 * @param warn is given why the whole text is used
 * @throws RenderError `InvalidDocumentFormat` for a value that is no text
 */
export function extractPart(
  value: unknown,
  { schema, name, path, pattern, match_group: group = 0 }: Source,
  warn: (message: string) => void,
): unknown {
  // a part of what stands for a secret says no more of it
  if (pattern === undefined || value === mask) return value;
  if (typeof value !== 'string') {
    throw new RenderError(
      'InvalidDocumentFormat',
      `src.pattern is for texts, and ${path} of ${schema} ${name} is none`,
    );
  }
  const found = findPart(value, pattern, group);
  if (found !== undefined) return found;
  warn(`pattern ${JSON.stringify(pattern)} is not found in ${path} of ${schema} ${name}: all of it is used`);
  return value;
}

/**
 * Data with a source's value in a destination: as a whole, or in place of each match of the pattern in the text there
 * (with `recurse`, in all texts at and below it, `depth` levels deep; -1 = all). Pure.
 * @throws RenderError `MissingDocumentPattern` where the pattern isn't found
 */
export function substitute(data: unknown, value: unknown, { path: where, pattern, recurse }: Destination): unknown {
  const path = parseJsonPath(where);
  if (pattern === undefined) {
    if (recurse) throw new RenderError('InvalidDocumentFormat', `${where} has recurse, which needs a pattern`);
    return withValueAt(data, path, value);
  }
  if (typeof value === 'object' && value !== null) {
    throw new RenderError('InvalidDocumentFormat', `pattern ${pattern} can't be replaced by a mapping or a list`);
  }
  const levels = recurse === undefined ? 0 : recurse.depth;
  const found = { count: 0 };
  const replaced = replaceIn(valueAt(data, path), levels === -1 ? Number.POSITIVE_INFINITY : levels, (text) => {
    const changed = replacePattern(text, pattern, inPython(value));
    if (changed !== undefined) found.count += 1;
    return changed ?? text;
  });
  if (found.count === 0) {
    throw new RenderError('MissingDocumentPattern', `pattern ${JSON.stringify(pattern)} is not found in ${where}`);
  }
  return withValueAt(data, path, replaced);
}

/** A value as text, as Deckhand has it. */
function inPython(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (value === null || value === undefined) return 'None';
  // JavaScript's 1.5e-7 is Python's 1.5e-07, and 0.00001 its 1e-05
  if (typeof value === 'number' && value !== 0 && Math.abs(value) < 1e-4) {
    return value.toExponential().replace(/-(\d)$/, '-0$1');
  }
  return JSON.stringify(value);
}

function replaceIn(value: unknown, levels: number, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (levels === 0) return value;
  if (Array.isArray(value)) return value.map((each: unknown) => replaceIn(each, levels - 1, change));
  if (!isMapping(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, replaceIn(each, levels - 1, change)]));
}
