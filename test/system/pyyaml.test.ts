import { beforeAll, expect, test } from 'vitest';
import { parseDocuments } from '#conductor/sites/documents/yaml/parse-documents.ts';
import { run } from '#shared/process/run.ts';
import * as fc from '#test/fuzz/fast-check.ts';

/** Plain scalars of documents against Debian's PyYAML, by which Deckhand, Shipyard and Drydock read them. */

/** Each as JSON; what JSON can't keep by its name. */
const judge = `
import datetime, json, sys, yaml
def show(value):
    if isinstance(value, (datetime.date, datetime.datetime)): return 'a date'
    if isinstance(value, float) and (value != value or value in (float('inf'), float('-inf'))): return 'no number of JSON'
    return json.dumps(value)
answers = []
for text in json.load(sys.stdin):
    try: answers.append(show(yaml.safe_load('key: ' + text)['key']))
    except Exception as error: answers.append('refused')
json.dump(answers, sys.stdout)
`;

const fixed = [
  '0644',
  '0o644',
  '0x1F',
  '0b101',
  '-0b11',
  '-017',
  '089',
  '08.5',
  '1_000',
  '1_000.5',
  '_1',
  '0',
  '-0',
  '+12',
  '00',
  'yes',
  'Yes',
  'YES',
  'yEs',
  'no',
  'on',
  'off',
  'On',
  'OFF',
  'y',
  'n',
  'Y',
  'true',
  'True',
  'TRUE',
  'tRUE',
  'false',
  '~',
  'null',
  'Null',
  'NULL',
  'nULL',
  '',
  'none',
  'None',
  '1.5',
  '1.',
  '.5',
  '-.5',
  '+.5',
  '1e3',
  '1.0e3',
  '1.5e+3',
  '1.5e-3',
  '-1.5E+3',
  '.5e+2',
  '1._5',
  '._5',
  '.',
  '-',
  '+',
  '1:30',
  '190:20:30',
  '01:30',
  '1:60',
  '1:30.5',
  '-1:30',
  '190:20:30.15',
  '12:30:45',
  '1:2:3:4',
  '52:54:00:12:34',
  '.inf',
  '-.inf',
  '+.Inf',
  '.NaN',
  '.nan',
  '-.nan',
  'nan',
  'inf',
  '9007199254740993',
  '1.10',
  '10.22.104.0/24',
  '2026-11-24',
  '2026-11-24 18:00:00',
  '2026-11-24T18:00:00Z',
  '20261124',
  "'yes'",
  '"0644"',
  "'~'",
  '0:0',
  '1__0',
  '0x',
  '0b',
  '0_7',
  '0x_f',
  '1:30:',
  'v1.0',
  '16.04',
  'ga-16.04',
  '802.1q',
  '0o17',
  '0O17',
  '0X1F',
  '0B1',
  '1.2.3',
  '=',
  '<<',
  'enabled',
  '>100g',
  '100g',
];

const shown = (text: string): unknown => {
  const { documents, faults } = parseDocuments(`schema: a/B/v1\nmetadata: {name: a}\ndata:\n  key: ${text}\n`);
  const [fault] = faults;
  if (fault) return /it must be a number/.test(fault.message) ? 'no number of JSON' : 'refused';
  const data = documents[0]?.['data'] as { readonly key: unknown } | undefined;
  return JSON.stringify(data?.key);
};

let ask: (texts: readonly string[]) => Promise<readonly string[]>;
beforeAll(() => {
  ask = async (texts) => {
    const { stdout } = await run('/usr/bin/python3', ['-c', judge], {
      input: JSON.stringify(texts),
      timeoutMs: 120_000,
    });
    return JSON.parse(stdout) as string[];
  };
});

/** Lists what is read otherwise. */
async function compare(texts: readonly string[]): Promise<readonly unknown[]> {
  const answers = await ask(texts);
  const asText = (text: string, answer: string | undefined) =>
    // JSON has no dates; `=` and `<<` as values have a meaning that nobody wants
    answer === 'a date' || /^(=|<<)$/.test(text) ? JSON.stringify(text) : answer;
  return texts.flatMap((text, index) => {
    const theirs = asText(text, answers[index]);
    const ours = shown(text);
    const isSame = ours === theirs || (theirs !== undefined && isNumber(theirs) && Number(ours) === Number(theirs));
    return isSame ? [] : [{ text, theirs, ours }];
  });
}

const isNumber = (text: string): boolean => /^[-\d]/.test(text);

test('scalars that are not what they seem', async () => {
  expect(await compare(fixed)).toEqual([]);
});

test('any text of their characters', async () => {
  const alphabet = '0123456789_+-.:xobeEaAfFyYnNsStTrRuUlL~'.split('');
  const word = fc.string({ unit: fc.constantFrom(...alphabet), minLength: 1, maxLength: 9 });
  // a MAC address is text here, and quoted in Airship's sites
  const isPlain = (text: string) => !/^[-:?]|: |:$|^\d\d(:\d\d){5}$/.test(text);
  expect(await compare(fc.sample(word.filter(isPlain), { numRuns: 20_000, seed: 15 }))).toEqual([]);
});

test('a MAC address is text, though PyYAML would count in sixties', async () => {
  expect(await ask(['52:54:00:12:34:56'])).toEqual(['41135085296']);
  expect(shown('52:54:00:12:34:56')).toBe('"52:54:00:12:34:56"');
});
