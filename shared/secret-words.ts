/**
 * Hiding of known secrets in texts that may repeat them: a BMC's answer, a program's output. Every secret is hidden
 * wherever it stands. Only one that is a word of Baton's own messages (`wrong`, `password`) is left in prose: hidden
 * everywhere it would take that word out of each message, and so say what it is.
 */

export const mask = '******';

/** Others' words (a BMC's, an agent's) without the secrets that they repeat. */
export type Hide = (text: string) => string;

/** A shorter secret is hidden only where it stands as a word of its own. */
const recognizableLength = 5;

/**
 * Words of Baton's own messages that people take as passwords, and that protect nothing. Each further one is a password
 * that may be read in others' prose: nothing belongs here for being merely a word.
 */
export const ownWords: ReadonlySet<string> = new Set(['error', 'failed', 'login', 'password', 'root', 'user', 'wrong']);

const secretKey =
  '(?:pass(?:word|wd|phrase|code)?|pwd|pin|token|secret|credentials?|authorization|community|key(?:-string)?|user(?:_?name)?)';
/** Pattern of how switches name the form of a password that follows. */
const form = '(?:md5|sha-?\\d*|3?des|aes-?\\d*|(?:plain|clear|cipher)-?text)';
/** Beginnings of lines of switches that may hold a password anywhere after. */
const switchLine = '(?:snmp-server|snmp-agent|tacacs(?:-server)?|radius(?:-server)?|enable (?:password|secret))';

/** Texts before which a value can stand, as patterns. */
const before: readonly string[] = [
  // `password wrong`, `password: wrong`, `X-Auth-Token: wrong`, `"key": "wrong"`, `secret 5 wrong`
  `${secretKey}["'\\])]*[\\s:="'\`(\\[<>]+(?:(?:${form}|\\d+)\\s+)*["']?`,
  `\\b${form}\\s+`,
  // `…&pin=wrong`, `user = root`
  '=\\s*["\']?',
  // `-P wrong`, `-Pwrong`, `--password wrong`
  '(?:^|\\s)-[a-z]\\s*["\']?',
  '(?:^|\\s)--[\\w-]+[\\s=]+["\']?',
  // `snmp-server host 192.0.2.1 wrong`
  `\\b${switchLine}\\s[^\\n]{0,200}[\\s"']`,
  // `login with root failed`
  '\\blog(?:ged)?[ -]?in (?:with|as|by) ',
  // `http://root:x@h/`, `http://me:wrong@h/`
  '://(?:[^\\s/@]{0,200}:)?',
  // `me:wrong`
  '(?:^|[\\s"\'/(])[\\w.-]+:',
];

/** Places at which a value can stand; `S` is the secret, looked behind and ahead of. */
const places: readonly string[] = [
  `(?<=${before.join('|')})S(?![\\w-])`,
  // in quotes, but not as a key of JSON
  '(?<=["\'`\u2018\u201c])S(?=["\'`\u2019\u201d])(?!(?<=[{,]\\s*["\']S)["\']\\s*:\\s*(?:["\'\\d{[]|true\\b|false\\b|null\\b))',
  // `the password is root`; that it is wrong or has failed is prose
  `(?<=${secretKey} (?:is|was) )S(?<!wrong|failed)(?![\\w-])`,
  // DMTF's messages: `The value wrong for the property`
  '(?<=\\bvalue )S(?= (?:for|of) (?:the )?(?:property|parameter|attribute|key)\\b)',
  // in a tag, in brackets, in a list in brackets
  '(?<=>\\s*)S(?=\\s*<)',
  '(?<=[[({]\\s*)S(?=\\s*[\\])},])',
  '(?<=[[({][^\\])}\\n]{0,200},\\s*)S(?=\\s*[\\])},])',
];

/** Place of a short secret that is no word of its own there: `-Pab12`. */
const afterOption = '(?<=(?:^|\\s)-[A-Za-z])S(?![\\w-])';

/** Authorization of HTTP, which holds a login in a form of its own. */
const authorization = /\b((?:Basic|Bearer|Digest)\s+)[A-Za-z0-9+/_.~-]{8,}=*/g;

/** @param texts secrets in clear; asked for with the first words that there are */
export function hideSecrets(texts: () => readonly string[]): Hide {
  return hideBy(texts, (text) => (ownWords.has(text) ? [whereAValueStands(text)] : [anywhere(text)]));
}

/**
 * The same where the words are the answer to just these values, which they may repeat anywhere: own words are hidden,
 * too, as words of their own.
 */
export function hideEchoed(texts: () => readonly string[]): Hide {
  return hideBy(texts, (text) => (ownWords.has(text) ? [whereAValueStands(text), alone(text)] : [anywhere(text)]));
}

function hideBy(texts: () => readonly string[], rulesOf: (text: string) => readonly Hide[]): Hide {
  const memory: { rules?: readonly Hide[] } = {};
  return (words) => {
    memory.rules ??= writtenForms(texts()).flatMap(rulesOf);
    const masked = memory.rules.reduce((rest, rule) => rule(rest), words);
    return memory.rules.length === 0 ? masked : masked.replaceAll(authorization, `$1${mask}`);
  };
}

/** Lists the forms in which a secret may be written, the longest first, since one may be part of another. */
function writtenForms(texts: readonly string[]): string[] {
  const written = texts
    .flatMap((text) => [text, ...text.split('\n')])
    // as it stands in JSON and in URLs
    .flatMap((text) => [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text.toWellFormed())])
    .map((text) => text.trim())
    .filter((text) => text !== '');
  return [...new Set(written)].sort((a, b) => b.length - a.length);
}

function anywhere(text: string): Hide {
  return text.length >= recognizableLength ? (words) => words.replaceAll(text, mask) : alone(text);
}

function alone(text: string): Hide {
  const exact = exactly(text);
  const pattern = new RegExp(`(?<![\\w-])${exact}(?![\\w-])|${afterOption.replace('S', () => exact)}`, 'g');
  return (words) => words.replaceAll(pattern, mask);
}

function whereAValueStands(text: string): Hide {
  const exact = exactly(text);
  const pattern = new RegExp(`(?=${exact})(?:${places.map((each) => each.replaceAll('S', exact)).join('|')})`, 'gi');
  // letter by letter the secret, whatever the case of what stands around it
  return (words) =>
    words.trim() === text ? mask : words.replaceAll(pattern, (found) => (found === text ? mask : found));
}

function exactly(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}
