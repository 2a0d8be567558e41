import type { Screen } from '#conductor/cli/shell/screen.ts';

/** Colours of words of state, on terminals alone. */

const codes = { red: 31, green: 32, yellow: 33, cyan: 36 } as const;
type Colour = keyof typeof codes;

/** First word of a line of `baton status`, and provision states that people look for. */
const painted: readonly (readonly [pattern: RegExp, colour: Colour])[] = [
  [/^(failed)(?= )/gm, 'red'],
  [/^(retrying|slow)(?= )/gm, 'yellow'],
  [/^(held)(?= )/gm, 'cyan'],
  [/(?<=^|  )((?:deploy|clean|inspect|adopt|rescue|unrescue|service) failed|error)(?=  |$)/gm, 'red'],
  [/(?<=^|  )(active)(?=  |$)/gm, 'green'],
  // health of machines
  [/(?<=^|  )(Critical)(?=  |$)/gm, 'red'],
  [/(?<=^|  )(Warning)(?=  |$)/gm, 'yellow'],
];

/**
 * Whether a terminal gets colours: one that is a terminal, unless `NO_COLOR` is set to anything (no-color.org) or the
 * terminal says that it has none. Pure.
 */
export function wantsColours(
  isTerminal: boolean,
  env: Readonly<Partial<Record<'NO_COLOR' | 'TERM', string | undefined>>>,
): boolean {
  return isTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
}

/** The text with its words of state in colour, where the screen has colours. It is laid out before: codes have no width. */
export function paintStates({ hasColours = false }: Pick<Screen, 'hasColours'>, text: string): string {
  if (!hasColours) return text;
  return painted.reduce(
    (lines, [pattern, colour]) => lines.replaceAll(pattern, `\u001b[${codes[colour]}m$1\u001b[0m`),
    text,
  );
}
