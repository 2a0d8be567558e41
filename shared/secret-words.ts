/**
 * Hiding of known secrets in texts that may repeat them: a BMC's answer, a program's output. A secret that is a word of
 * the language (`wrong`, `password`, `443`) is hidden only where a value can stand: hidden everywhere it would take
 * ordinary words out of messages, and so say what it is.
 */

export const mask = '******';

/** Others' words (a BMC's, an agent's) without the secrets that they repeat. */
export type Hide = (text: string) => string;

/** A shorter secret is hidden only where it stands as a word of its own. */
const recognizableLength = 5;
/** Letters alone are no word above it: `authentication` has 14. */
const longestWord = 15;

/** Passwords that makers ship, which are no words of a message. */
const makersOwn: ReadonlySet<string> = new Set(['calvin', 'changeme', 'superuser', 'openbmc', 'passw']);

/**
 * Whether a message may have the text as an ordinary word, of which it then says nothing: a word in one case, such words
 * joined, or a small number. Pure.
 */
export function isOrdinaryWord(text: string): boolean {
  const bare = text.replace(/[:;,.]+$/, '').replace(/^- /, '');
  if (/^\d{1,5}$/.test(bare)) return true;
  const words = bare.split(/[ _-]/);
  return words.length <= 3 && words.every(isWord);
}

function isWord(text: string): boolean {
  if (!/^(?:\p{Lu}?\p{Ll}+|\p{Lu}+)$/u.test(text) || text.length > longestWord) return false;
  const word = text.toLowerCase();
  // drawn letters are seldom pronounceable
  return !makersOwn.has(word) && /[aeiouy]/.test(word) && !/[^aeiouy]{6}|[aeiou]{5}/.test(word);
}

const secretKey = '(?:pass(?:word|wd|phrase)?|pwd|token|secret|credentials?|authorization|community|key)';
/** Pattern of text that may follow a value without quotes. */
const end = '(?=$|[\\s"\'`,;&)}\\]<])';

/** Places at which a value can stand, each with the text before it as a look behind; `S` is the secret. */
const places: readonly string[] = [
  // in quotes, but not as a key of JSON
  '(?<=["\'`\u2018\u201c])S(?=["\'`\u2019\u201d])(?!["\']\\s*:\\s*(?:["\'\\d{[]|true\\b|false\\b|null\\b))',
  // `…&pin=wrong`, `user=admin`
  `(?<=[\\w\\]]=)S${end}`,
  // `password: wrong` where nothing follows that would make it prose, `X-Auth-Token: wrong`
  `(?<=${secretKey}["']?:\\s*)S(?=$|["'\`,;&)}\\]<]|\\s*\\n)`,
  // `-P wrong`, `--password wrong`
  `(?<=(?:^|\\s)(?:-[pP]|--?[\\w-]*${secretKey})[ =])S${end}`,
  // lines of switches: `secret 5 wrong`, `community wrong`
  `(?<=(?:password|secret|key) \\d+ )S${end}`,
  `(?<=community )S(?=$|\\s*\\n| (?:ro|rw)\\b)`,
  // DMTF's messages: `The value wrong for the property`
  `(?<=\\bvalue )S(?= (?:for|of) (?:the )?(?:property|parameter|attribute|key)\\b)`,
  // `admin:wrong`, also before the `@` of a URL
  `(?<=(?:^|[\\s"'/(])[\\w.-]+:)S(?=$|[\\s"'\`,;)@])`,
];

/** Authorization of HTTP, which holds a login in a form of its own. */
const authorization = /\b((?:Basic|Bearer|Digest)\s+)[A-Za-z0-9+/_.~-]{8,}=*/g;

/** @param texts secrets in clear; asked for with the first words that there are */
export function hideSecrets(texts: () => readonly string[]): Hide {
  return hideBy(texts, (text) => (isOrdinaryWord(text) ? undefined : anywhere(text)));
}

/**
 * The same where the words are the answer to just these values, which they may repeat anywhere: ordinary words are
 * hidden, too, as words of their own.
 */
export function hideEchoed(texts: () => readonly string[]): Hide {
  return hideBy(texts, anywhere);
}

function hideBy(texts: () => readonly string[], pattern: (text: string) => RegExp | undefined): Hide {
  const memory: { rules?: readonly ((words: string) => string)[] } = {};
  return (words) => {
    memory.rules ??= writtenForms(texts()).map((text) => {
      const found = pattern(text);
      return found ? (given: string) => given.replaceAll(found, mask) : whereAValueStands(text);
    });
    const masked = memory.rules.reduce((rest, rule) => rule(rest), words);
    return memory.rules.length === 0 ? masked : masked.replaceAll(authorization, `$1${mask}`);
  };
}

/** Longest first: one may be part of another. */
function writtenForms(texts: readonly string[]): string[] {
  const written = texts
    .flatMap((text) => [text, ...text.split('\n')])
    // as it stands in JSON and in URLs
    .flatMap((text) => [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text.toWellFormed())])
    .map((text) => text.trim())
    .filter((text) => text !== '');
  return [...new Set(written)].sort((a, b) => b.length - a.length);
}

function anywhere(text: string): RegExp {
  const exact = exactly(text);
  const isLong = text.length >= recognizableLength && !isOrdinaryWord(text);
  return new RegExp(isLong ? exact : `(?<![\\w-])${exact}(?![\\w-])`, 'g');
}

function whereAValueStands(text: string): (words: string) => string {
  const exact = exactly(text);
  const pattern = new RegExp(places.map((place) => place.replace('S', () => exact)).join('|'), 'gi');
  // letter by letter the secret, whatever the case of what stands around it
  return (words) =>
    words.trim() === text ? mask : words.replaceAll(pattern, (found) => (found === text ? mask : found));
}

function exactly(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
