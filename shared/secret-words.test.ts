import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hideEchoed, hideSecrets, mask, ownWords } from '#shared/secret-words.ts';
import { array, assert, constantFrom, oneof, property, string } from '#test/fuzz/fast-check.ts';

const hiding = (secret: string) => hideSecrets(() => [secret]);

/** Sentences of Baton's own, from the literals of these folders, with `X` for what is put into them. */
async function ownSentences(): Promise<string[]> {
  const sentences: string[] = [];
  for (const folder of ['conductor/drivers', 'conductor/flows', 'conductor/networks', 'agent/steps', 'agent/image']) {
    for (const entry of await readdir(folder, { recursive: true })) {
      if (!entry.endsWith('.ts') || entry.endsWith('.test.ts')) continue;
      const text = await readFile(join(folder, entry), 'utf8');
      for (const [, plain, template] of text.matchAll(/'([^'\\\n]*)'|`([^`\\\n]*)`/g)) {
        const sentence = (plain ?? template ?? '').replaceAll(/\$\{[^{}]*\}/g, 'X');
        if (/[a-z] [a-z]+ [a-z]/.test(sentence) && !/["'`=<$]|\w:\S/.test(sentence)) sentences.push(sentence);
      }
    }
  }
  return sentences;
}

const word = constantFrom(...ownWords, 'admin', 'Administrator', 'power off', '443', '12', 'ADMIN');
/** Passwords as people and programs make them, with what regular expressions and replacements mean something by. */
const drawn = string({ minLength: 5, maxLength: 30 }).filter((text) => /^[!-~]+$/.test(text) && !/[*]/.test(text));
/** Passwords that look like words: syllables as pwgen joins them, words as diceware does, own words among them. */
const syllables = array(constantFrom('oh', 'quie', 'phai', 'bar', 'ra', 'cu', 'da', 'win', 'ter', 'Sum', 'mer', '7'), {
  minLength: 3,
  maxLength: 6,
}).map((parts) => parts.join(''));
const joined = array(constantFrom(...ownWords, 'tiger', 'lemon', 'river'), { minLength: 2, maxLength: 4 }).chain(
  (words) => constantFrom('-', '_', ' ', '.', '').map((glue) => words.join(glue)),
);
const ofOwnWord = constantFrom(...ownWords).chain((own) =>
  constantFrom(
    own.toUpperCase(),
    `${own}1`,
    `${own}!`,
    `${own}:`,
    `- ${own}`,
    `${own[0]?.toUpperCase()}${own.slice(1)}`,
  ),
);
const digits = constantFrom('12345', '00000', '80443', '1234567');
const distinct = oneof(drawn, syllables, joined, ofOwnWord, digits).filter(
  (text) => text.length >= 5 && !ownWords.has(text),
);

describe('no ordinary word is eaten', () => {
  test('whatever word of Baton’s own sentences the password is', async () => {
    const sentences = await ownSentences();
    expect(sentences.length).toBeGreaterThan(300);
    const eaten = sentences.flatMap((sentence) =>
      [...new Set(sentence.match(/[A-Za-z]+|\d+/g))]
        .filter((each) => ownWords.has(each))
        .flatMap((each) => (hiding(each)(sentence) === sentence ? [] : [`${each}: ${sentence}`])),
    );
    expect(eaten).toEqual([]);
    // a word that no message has needs no exemption
    const all = sentences.join(' ');
    expect([...ownWords].filter((own) => !new RegExp(`\\b${own}\\b`).test(all))).toEqual([]);
  });

  test.each([
    ['wrong', 'GET https://bmc/redfish/v1/ answered 401 (redfish_username or redfish_password is wrong)'],
    ['password', 'redfish_password: the password is refused, {"password": "x"}'],
    ['root', 'the account of a root is locked; see roots'],
    ['443', 'connect ECONNREFUSED 192.0.2.1:4430'],
    ['failed', '2 failed, the login failed, 401 failed: {"failed": 3, "Message": null}'],
    ['user', 'redfish_username of users, super-user'],
  ])('%s', (secret, text) => expect(hiding(secret)(text)).toBe(text));
});

/** Lines and words of others, each with a password in it. */
const repeated: readonly (readonly [string, (value: string) => string])[] = [
  ['% Invalid input at a login', (value) => `% Invalid input: username baton password ${value}`],
  ['enable secret', (value) => `enable secret ${value}`],
  ['TACACS', (value) => `tacacs-server key ${value}`],
  ['a trap’s receiver', (value) => `snmp-server host 192.0.2.1 ${value}`],
  ['-P', (value) => `ipmitool -I lanplus -P${value} power status`],
  ['-p', (value) => `mysql -p${value}`],
  ['a tag', (value) => `<password>${value}</password>`],
  ['DMTF’s arguments', (value) => `PropertyValueNotInList [${value}, Password]`],
  ['prose', (value) => `refused with password ${value}`],
  ['a login that failed', (value) => `login with ${value} failed`],
];

describe('no secret is left', () => {
  test('one that is not of the own words, anywhere', () => {
    const text = string({ maxLength: 12 });
    assert(
      property(distinct, text, text, constantFrom(' ', '', '"', ': ', '=', '/', '-'), (secret, before, after, glue) => {
        const hidden = hiding(secret)(`${before}${secret}${after} the${glue}${secret}${glue}is not of ${secret}.`);
        expect(hidden).not.toContain(secret);
        expect(hidden).toContain(mask);
      }),
      { numRuns: 1000 },
    );
  });

  const likeWords = ['barracuda', 'ohquiephaiw', 'tiger-lemon-river', 'winter', 'wrong-password', 'Password', '80443'];
  describe.each([...repeated, ['said', (value: string) => `the password is ${value}`] as const])(
    '%s',
    (_name, write) => {
      test.each(likeWords)('%s', (secret) => expect(hiding(secret)(write(secret))).not.toContain(secret));
    },
  );

  test.each([...repeated])('an own word in %s', (_name, write) => {
    for (const own of ownWords) expect(hiding(own)(write(own))).toBe(write(mask));
  });

  test.each([
    ['root', 'the password is root'],
    ['1234', 'mysql -p1234'],
    ['1234', '<pin>1234</pin>, [1234]'],
    ['error', 'snmp-server user u g v3 auth sha error'],
    ['wrong', 'set snmp community wrong'],
    ['root', 'http://root:x@h/ answered'],
    ['login', 'user = "login" of [a, login]'],
  ])('%s in %s', (secret, text) => {
    expect(hiding(secret)(text)).toBe(text.replaceAll(secret, mask));
  });

  test.each([
    ['in quotes', (value: string) => `the login '${value}' was refused`],
    ['in double quotes', (value: string) => `{"Message": "no", "Args": ["${value}"]}`],
    ['in backquotes', (value: string) => `not \`${value}\``],
    ['as a value of JSON', (value: string) => `{"Password": "${value}", "x": 1}`],
    ['in a query', (value: string) => `https://h/x?a=1&pin=${value}&b=2`],
    ['assigned', (value: string) => `retry with password=${value}, please`],
    ['after a header’s name', (value: string) => `X-Auth-Token: ${value}\nHost: h`],
    ['after a password’s name', (value: string) => `bad Password: ${value}`],
    ['as an argument', (value: string) => `ipmitool -U me -P ${value} power status`],
    ['as a long argument', (value: string) => `curl --proxy-password ${value} x`],
    ['on a switch', (value: string) => `username baton secret 5 ${value}`],
    ['as a community', (value: string) => `snmp-server community ${value} ro`],
    ['in DMTF’s words', (value: string) => `The value ${value} for the property Password is not in the list`],
    ['as a login', (value: string) => `https://me:${value}@bmc/`],
    ['alone', (value: string) => `${value}\n`],
  ])('a word %s', (_where, write) => {
    assert(
      property(word, (secret) => {
        const hidden = hiding(secret)(write(secret));
        expect(hidden.trim()).toBe(write(mask).trim());
      }),
    );
  });

  test('a login as HTTP writes it', () => {
    const basic = Buffer.from('me:wrong').toString('base64');
    expect(hiding('wrong')(`Authorization: Basic ${basic}`)).toBe(`Authorization: Basic ${mask}`);
  });

  test('a short one as a word of its own, and the longer of two first', () => {
    expect(hideSecrets(() => ['a1', 'a1-Xy7'])('a1 in a10, a1-Xy7')).toBe(`${mask} in a10, ${mask}`);
  });

  test('a small number, but not within another', () => {
    expect(hiding('443')('192.0.2.1:443 and 4430 after 443 ms')).toBe(`192.0.2.1:${mask} and 4430 after ${mask} ms`);
  });

  test('an answer to just this value, in its midst', () => {
    expect(hideEchoed(() => ['wrong'])('wrong is too short, wrongs are not')).toBe(
      `${mask} is too short, wrongs are not`,
    );
    expect(hideEchoed(() => ['maybe'])('maybe is too short')).toBe(`${mask} is too short`);
  });
});
