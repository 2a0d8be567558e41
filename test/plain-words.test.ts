import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isProduct, readSources } from './house/read-sources.ts';
import { findVerblessComments } from './house/sentences.ts';

/** Words that Ironic's and Kubernetes' maintainers would not use for a thing, and those that they would. */
const plainWords: readonly (readonly [odd: RegExp, plain: string])[] = [
  [/^(tells?|telling|told)$/, 'report, notify, describe'],
  [/^wish(es)?$/, 'request, requirements'],
  [/^deeds?$/, 'change'],
  [/^hands$/, 'operations'],
  [/^anew$/, 'again, restart'],
  [/^whoever$/, 'caller, user'],
  [/^seats?$/, 'terminal'],
  [/^standings?$/, 'status, observed'],
];

/** Not even in comments and messages, where the others have their ordinary use. */
const oddEverywhere = /\b(anew|wish(es)?|deed|whoever)\b/gi;

/** A key of what cluster steps have stored. */
const stored = new Set(['deeds']);

// a regular expression stands where no value can have ended
const notCode =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|(?<=[(,=:[!&|?{};]\s*)\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/g;
const template = /`(?:\\[\s\S]|[^`\\])*`/g;

/** Identifiers of a source, also those in the placeholders of its templates. */
function namesIn(text: string): ReadonlySet<string> {
  const code = text
    .replaceAll(notCode, ' ')
    .replaceAll(template, (whole) => [...whole.matchAll(/\$\{([^{}]*)\}/g)].map((match) => match[1]).join(' '));
  return new Set(code.match(/[A-Za-z_$][\w$]*/g));
}

const adviceOn = (name: string): string[] =>
  (name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? []).flatMap((word) =>
    plainWords.filter(([odd]) => odd.test(word.toLowerCase())).map(([, plain]) => `${name}: not ${word}, but ${plain}`),
  );

test('names and files have plain words', async () => {
  const sources = await readSources(join(import.meta.dirname, '..'));
  const faults = sources.flatMap(({ path, text }) =>
    [path, ...namesIn(text)]
      .filter((name) => !stored.has(name))
      .flatMap((name) => adviceOn(name).map((each) => `${path}: ${each}`)),
  );
  expect(sources.length).toBeGreaterThan(1000);
  expect(faults).toEqual([]);
});

test('comments and messages have plain words', async () => {
  const sources = await readSources(join(import.meta.dirname, '..'));
  const faults = sources
    .filter(({ path }) => path !== 'test/plain-words.test.ts')
    .flatMap(({ path, text }) => (text.match(oddEverywhere) ?? []).map((word) => `${path}: ${word}`));
  expect(faults).toEqual([]);
});

/** First words of a comment that has no subject, or must be solved like a riddle. */
const noSubject = /\/\*\*\s*(?:\*\s*)?(?:what|who|whose|of|that|those|as)\b.*/gi;

test('a doc comment begins with a verb in the third person, or a noun', async () => {
  const sources = await readSources(join(import.meta.dirname, '..'));
  const faults = sources.flatMap(({ path, text }) => (text.match(noSubject) ?? []).map((each) => `${path}: ${each}`));
  expect(faults).toEqual([]);
});

test('a comment without a subject is found, on one line and on several', () => {
  const comments = ['* What it does. */ // as it is', '* Offers what it has. */', '*\n * Of a door.\n */'];
  const text = comments.map((each) => `/*${each}`).join('\n');
  expect(text.match(noSubject)?.map((each) => each.slice(4).trim())).toEqual([
    'What it does. */ // as it is',
    '* Of a door.',
  ]);
});

/** Limit of comments of functions that still begin otherwise (`npm run house` has their number); it may only shrink. */
const mostWithoutVerb = 1440;

test('a comment of a function begins with a verb, more and more', async () => {
  const faults = findVerblessComments((await readSources(join(import.meta.dirname, '..'))).filter(isProduct));
  expect(faults.length).toBeLessThanOrEqual(mostWithoutVerb);
});

test('a function without a verb in its comment is found, whichever way it is written', () => {
  const comment = (words: string): string => ['/*', `* ${words} */\n`].join('');
  const text = [
    `${comment('The door.')}export function doorOf(): void {}`,
    `${comment('Steps of a stair.')}const stepsOf = (stair: Stair): Step[] => stair.steps;`,
    `${comment('Opens a door.')}export async function open(): Promise<void> {}`,
    `${comment('@throws AppError when it is locked')}function shut(): void {}`,
    `${comment('A door.')}export interface Door {}`,
  ].join('\n');
  expect(findVerblessComments([{ path: 'a.ts', text, imports: [], typeImports: [] }])).toEqual([
    'a.ts: doorOf: The door.',
    'a.ts: stepsOf: Steps of a stair.',
  ]);
});

test('names are found in code alone', () => {
  const text = "const isTold = /['`]/.test(`told ${withWish(a)} ${b}`); // seat\nf('deed', \"hands\"); /* anew */";
  expect([...namesIn(text)]).toEqual(['const', 'isTold', 'test', 'withWish', 'a', 'b', 'f']);
  expect(adviceOn('isTold')).toEqual(['isTold: not Told, but report, notify, describe']);
});
