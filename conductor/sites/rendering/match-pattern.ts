import { RenderError } from '#conductor/sites/rendering/render-error.ts';
import { runWithin } from '#conductor/sites/rendering/run-within.ts';

const longestText = 1024 ** 2;
const milliseconds = 500;

/**
 * The text with the value in place of each match of the pattern, a regular expression; `undefined` without any. The value
 * is put in as it is: `$1` and `\1` in it mean nothing.
 * @throws RenderError for a pattern that is none, that takes too long, or a text that grows too long
 */
export function replacePattern(text: string, pattern: string, value: string): string | undefined {
  const matches = findMatches(text, pattern);
  if (matches.length === 0) return undefined;
  if (text.length + matches.length * value.length > longestText) {
    throw new RenderError('TooLarge', `a text would be longer than ${longestText} characters`);
  }
  const kept = matches.map(([start], index) => text.slice(matches[index - 1]?.[1] ?? 0, start) + value);
  return kept.join('') + text.slice(matches.at(-1)?.[1]);
}

/**
 * What the pattern's first match has found, or one of its groups; `undefined` without a match.
 * @throws RenderError for a pattern that is none or takes too long, and for a group that it has not, or that found nothing
 */
export function findPart(text: string, pattern: string, group: number): string | undefined {
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
  const matcher = compile(pattern, flags);
  // nothing in it to go back over: no need for the machinery below, which takes a thread
  if (!/[*+?{(|]/.test(pattern)) return find(matcher);
  const found: { matches?: readonly Found[] } = {};
  const hasEnded = runWithin(milliseconds, () => {
    found.matches = find(matcher);
  });
  if (!hasEnded || found.matches === undefined) {
    throw new RenderError('InvalidPattern', `pattern ${JSON.stringify(pattern)} takes too long to be searched for`);
  }
  return found.matches;
}

function compile(pattern: string, flags: 'g' | ''): RegExp {
  try {
    return new RegExp(fromPython(pattern), flags);
  } catch {
    const message = `pattern ${JSON.stringify(pattern)} is no regular expression that Baton can read`;
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
