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

type Match = readonly [start: number, end: number];

function findMatches(text: string, pattern: string): readonly Match[] {
  const matcher = compile(pattern);
  const search = (): Match[] => [...text.matchAll(matcher)].map(({ 0: all, index }) => [index, index + all.length]);
  // nothing in it to go back over: no need for the machinery below, which takes a thread
  if (!/[*+?{(|]/.test(pattern)) return search();
  const found: { matches?: readonly Match[] } = {};
  const hasEnded = runWithin(milliseconds, () => {
    found.matches = search();
  });
  if (!hasEnded || found.matches === undefined) {
    throw new RenderError('InvalidPattern', `pattern ${JSON.stringify(pattern)} takes too long to be searched for`);
  }
  return found.matches;
}

function compile(pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'g');
  } catch {
    throw new RenderError('InvalidPattern', `pattern ${JSON.stringify(pattern)} is no regular expression`);
  }
}
