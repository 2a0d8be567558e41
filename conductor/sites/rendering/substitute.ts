import { type Destination, RenderError, type Source } from '#conductor/sites/rendering/deckhand-metadata.ts';
import { parseJsonPath, valueAt, withValueAt } from '#conductor/sites/rendering/json-path.ts';
import { isMapping } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type PersonPattern, personPattern } from '#shared/person-pattern.ts';
import { mask } from '#shared/secret-words.ts';

/**
 * The part of a source's text that `src.pattern` finds; the value itself without pattern, and where it isn't found. Pure.
 * @param warn is given why the whole text is used
 * @throws RenderError `InvalidDocumentFormat` for a value that is not text
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

const longestText = 1024 ** 2;

/**
 * The text with the value in place of each match of the pattern, a regular expression; `undefined` without any. The value
 * is put in as it is: `$1` and `\1` in it mean nothing.
 * @throws RenderError for a pattern that is none, that takes too long, or a text that grows too long
 */
function replacePattern(text: string, pattern: string, value: string): string | undefined {
  const matches = findMatches(text, pattern);
  if (matches.length === 0) return undefined;
  if (text.length + matches.length * value.length > longestText) {
    throw new RenderError('TooLarge', `a text would be longer than ${longestText} characters`);
  }
  const kept = matches.map(([start], index) => text.slice(matches[index - 1]?.[1] ?? 0, start) + value);
  return kept.join('') + text.slice(matches.at(-1)?.[1]);
}

/**
 * Finds the pattern's first match, or one of its groups; `undefined` without a match.
 * @throws RenderError for a pattern that is none or takes too long, and for a group that it has not, or that found
 * nothing
 */
function findPart(text: string, pattern: string, group: number): string | undefined {
  if (text.length > longestText) {
    throw new RenderError('TooLarge', `a pattern is looked for in no more than ${longestText} characters`);
  }
  const [match] = search(pattern, (matcher) => [text.match(matcher)], '');
  if (!match) return undefined;
  if (group >= match.length) {
    const message = `pattern ${JSON.stringify(pattern)} has ${match.length - 1} groups, and match_group is ${group}`;
    throw new RenderError('InvalidPattern', message);
  }
  const found: string | undefined = match[group];
  if (found !== undefined) return found;
  throw new RenderError(
    'InvalidPattern',
    `group ${group} of pattern ${JSON.stringify(pattern)} has no part in its match`,
  );
}

type Match = readonly [start: number, end: number];

function findMatches(text: string, pattern: string): readonly Match[] {
  const all = (matcher: RegExp): Match[] =>
    [...text.matchAll(matcher)].map(({ 0: found, index }) => [index, index + found.length]);
  return search(pattern, all, 'g');
}

/** @throws RenderError for a pattern that is none, or that takes too long */
function search<Found>(
  pattern: string,
  find: (matcher: RegExp) => readonly Found[],
  flags: 'g' | '',
): readonly Found[] {
  const compiled = compile(pattern, flags);
  try {
    return compiled.look(find);
  } catch (cause) {
    if (!(cause instanceof AppError)) throw cause;
    throw new RenderError('InvalidPattern', `pattern ${JSON.stringify(pattern)} takes too long to be searched for`);
  }
}

function compile(pattern: string, flags: string): PersonPattern {
  try {
    return personPattern(fromPython(pattern), flags);
  } catch {
    const message = `pattern ${JSON.stringify(pattern)} is not a regular expression that Baton can read`;
    throw new RenderError('InvalidPattern', message);
  }
}

const pythonParts = /\\[AZ]|\\[\s\S]|\[\^?\]?(?:\\[\s\S]|[^\]\\])*\]|\(\?P<|\(\?P=(\w+)\)|\$/g;

/** Python's ways of saying what JavaScript says in others, some of which it would take for something else. */
function fromPython(pattern: string): string {
  return pattern.replaceAll(pythonParts, (part, name: string | undefined) => {
    if (part === '\\A') return '^';
    if (part === '\\Z') return '$';
    // before the line break at the end of the text, too: a YAML block has one
    if (part === '$') return '(?=\\n?$)';
    if (part === '(?P<') return '(?<';
    if (name !== undefined) return `\\k<${name}>`;
    // a bracket that comes first is one of the characters
    return part.replace(/^\[(\^?)\]/, '[$1\\]');
  });
}
