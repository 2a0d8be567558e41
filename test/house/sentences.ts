import type { Source } from './read-sources.ts';

const documented =
  /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*\n(?:export )?(?:(?:async )?function\*? (\w+)|const (\w+)(?:: [^=\n]+)? = (?:async )?(?:<[^>]*>)?\([^)]*\)[^=\n]*=>)/g;

/** Third persons that are written with a capital letter at the beginning, and are verbs; tags need none. */
const verbFirst = /^(?:@|[A-Z][a-z]+s\b(?!'))/;

/** Nouns in the plural and pronouns, which look like a third person. */
const notVerbs =
  /^(?:This|Its|Always|Others|Ports|Steps|Nodes|Names of|Words|Keys|Values|Rows|Rules|Fields|Parts|Bytes|Hours|Days|Times|Seconds|Milliseconds|Columns)\b/;

/** Lists functions whose doc comment does not begin with a verb in the third person: `path: name: first words`. Pure. */
export function findVerblessComments(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) =>
    [...text.matchAll(documented)].flatMap(([, comment = '', declared, assigned]) => {
      const words = comment.replaceAll(/^\s*\*+ ?/gm, '').trim();
      const isVerb = verbFirst.test(words) && !notVerbs.test(words);
      return isVerb ? [] : [`${path}: ${declared ?? assigned ?? ''}: ${words.slice(0, 60).replaceAll('\n', ' ')}`];
    }),
  );
}
