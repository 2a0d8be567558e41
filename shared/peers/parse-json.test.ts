import { expect, test } from 'vitest';
import { createJsonMeter, parseJson } from '#shared/peers/json-answers.ts';

const limits = { bytes: 1000, depth: 3, values: 8, code: 'bmc_error' } as const;

function pushAll(text: string, size: number): string {
  const meter = createJsonMeter('the BMC answers with', limits);
  const bytes = Buffer.from(text);
  try {
    for (let at = 0; at < bytes.length; at += size) meter.push(bytes.subarray(at, at + size));
    return 'taken';
  } catch (error) {
    return (error as Error).message;
  }
}

test.each([
  ['taken', '{"a": [1, 2, 3]}'],
  ['taken', String.raw`{"a": "[[[[[[[[,,,,,,,,\"[[[[{{{{\\", "b": 1}`],
  ['taken', `<html>${'[{,:'.repeat(100)}`],
  ['the BMC answers with more than 1000 bytes', 'x'.repeat(1001)],
  ['the BMC answers with JSON deeper than 3', ' \n[[[[1'],
  ['the BMC answers with more than 8 values', `[1${',1'.repeat(8)}]`],
])('a meter: %s', (outcome, text) => {
  for (const size of [1, 2, 7, 4096]) expect(pushAll(text, size)).toBe(outcome);
});

const long = 'x'.repeat(300_000);
test.each([
  ['text beyond ASCII, with escapes', { text: 'ä\n\u0007"\\€😀'.repeat(200_000) }],
  ['backslashes', { text: '\\'.repeat(1_500_001) }],
  ['plain texts', { [long.slice(0, 60_000)]: 1, list: [long, { inner: `${long}"`, short: 'y' }], empty: '' }],
  ['many short ones', Array.from({ length: 40_000 }, (_, index) => `"${index}\\`)],
  ['a text and no more', long],
  ['names that objects have by themselves', JSON.parse(`{"__proto__": {"constructor": "${long}"}}`) as unknown],
])('a large text is parsed in slices, with the same outcome: %s', async (_, value) => {
  const text = JSON.stringify(value);
  for (const mark of ['', '\uFEFF']) expect(await parseJson(Buffer.from(mark + text))).toEqual(JSON.parse(text));
  const escaped = text.replaceAll('x', String.raw`\u0078`).replaceAll('😀', String.raw`\ud83d\ude00`);
  expect(await parseJson(Buffer.from(escaped))).toEqual(JSON.parse(text));
});

test.each([
  `{"text": "${long}`,
  `{"text": "${long}\\`,
  `{"text": "${long}\\"`,
  `{"text": "${long}\n"}`,
  `{"text": "${long}\\x"}`,
  `{"text": "${long}\\u12"}`,
  `{"text": "${long}\\u12", "a": "1234"}`,
  `{"text": "${long}"`,
  `{"text": "${long}" "${long}"}`,
  long,
])('what is not JSON is none, however long: %#', async (text) => {
  expect(await parseJson(Buffer.from(text))).toBeUndefined();
});

test('no field has a name that fills a page', async () => {
  await expect(parseJson(Buffer.from(`{"${long}": 1}`))).rejects.toThrow('a name of 300000 characters');
});

test('a text that takes twice its bytes in memory may have 16 MiB', async () => {
  const text = 'x'.repeat(16 * 1024 ** 2);
  expect(await parseJson(Buffer.from(`["${text}\\n"]`))).toEqual([`${text}\n`]);
  await expect(parseJson(Buffer.from(`["${text}€"]`))).rejects.toThrow(
    'a text of 16777219 bytes with characters beyond Latin-1, and such a text may have 16777216',
  );
});

test('a byte that is no UTF-8 is read as it is in short texts', async () => {
  const bytes = Buffer.from(`["${long}ä"]`).subarray(0, -3);
  const broken = Buffer.concat([bytes, Buffer.from('"]')]);
  const expected: unknown = JSON.parse(broken.toString('utf8'));
  expect(await parseJson(broken)).toEqual(expected);
  expect(broken.length).toBeGreaterThan(300_000);
  // its reader was the last
  expect(await parseJson(broken, true)).toEqual(expected);
  expect(broken.length).toBe(0);
});

test('short texts are parsed at once', async () => {
  expect(await parseJson(Buffer.from('\uFEFF{"a": 1}'))).toEqual({ a: 1 });
  expect(await parseJson(Buffer.from('nothing'))).toBeUndefined();
});
