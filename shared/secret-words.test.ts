import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { hideEchoed, hideSecrets, isOrdinaryWord, mask } from '#shared/secret-words.ts';
import { assert, constantFrom, property, string } from '#test/fuzz/fast-check.ts';

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

const ordinary = ['wrong', 'password', 'admin', 'root', 'refused', 'Administrator', 'power off', '443', '12', 'ADMIN'];
const word = constantFrom(...ordinary);
/** Passwords as people and programs make them, with what regular expressions and replacements mean something by. */
const drawn = string({ minLength: 5, maxLength: 30 }).filter((text) => /^[!-~]+$/.test(text) && !/[*]/.test(text));
const distinct = drawn.filter(
  (text) => !isOrdinaryWord(text) && !['value', 'login'].some((each) => each.includes(text)),
);

describe('no ordinary word is eaten', () => {
  test('whatever word of Baton’s own sentences the password is', async () => {
    const sentences = await ownSentences();
    expect(sentences.length).toBeGreaterThan(300);
    const eaten = sentences.flatMap((sentence) =>
      [...new Set(sentence.match(/[A-Za-z]+|\d+/g))]
        .filter((each) => isOrdinaryWord(each) && each !== 'X')
        .flatMap((each) => (hiding(each)(sentence) === sentence ? [] : [`${each}: ${sentence}`])),
    );
    expect(eaten).toEqual([]);
  });

  test.each([
    ['wrong', 'GET https://bmc/redfish/v1/ answered 401 (redfish_username or redfish_password is wrong)'],
    ['password', 'redfish_password: the password is refused, {"password": "x"}'],
    ['admin', 'the account of an admin is locked; see the admin guide'],
    ['443', 'connect ECONNREFUSED 192.0.2.1:4430 after 443 ms'],
  ])('%s', (secret, text) => expect(hiding(secret)(text)).toBe(text));
});

describe('no secret is left', () => {
  test('one that is no word, anywhere', () => {
    assert(
      property(distinct, constantFrom(' ', '', '"', ': ', '=', '/', '-'), (secret, glue) => {
        const hidden = hiding(secret)(`the login${glue}${secret}${glue}is not a value of ${secret}.`);
        expect(hidden).not.toContain(secret);
        expect(hidden).toContain(mask);
      }),
      { numRuns: 500 },
    );
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
  ])('an ordinary word %s', (_where, write) => {
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

  test('an answer to just this value, in its midst', () => {
    expect(hideEchoed(() => ['maybe'])('maybe is too short, maybes are not')).toBe(
      `${mask} is too short, maybes are not`,
    );
  });
});
