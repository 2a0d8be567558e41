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

test('a large text of long strings is parsed elsewhere, with the same outcome', async () => {
  const value = { text: 'ä\n'.repeat(700_000) };
  for (const mark of ['', '\uFEFF']) {
    expect(await parseJson(Buffer.from(mark + JSON.stringify(value)), 2)).toEqual(value);
  }
  expect(await parseJson(Buffer.from(`{"text": "${'x'.repeat(2_000_000)}`), 2)).toBeUndefined();
  expect(await parseJson(Buffer.from('\uFEFF{"a": 1}'), 2)).toEqual({ a: 1 });
  expect(await parseJson(Buffer.from('nothing'), 0)).toBeUndefined();
});
