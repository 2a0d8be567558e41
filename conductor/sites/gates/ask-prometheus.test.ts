import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { askGate } from '#conductor/sites/gates/ask-gate.ts';
import { outboundAgent } from '#shared/peers/outbound-url.ts';

const rules = { setting: 'BATON_HEALTH_ALLOW', allow: undefined, allowLoopback: true, connectsHere: true };

/** Asks a Prometheus that answers so. @returns also the path that it was asked for */
async function askOf(answer: unknown, threshold: { at_least?: number; at_most?: number }, status = 200) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    response.writeHead(status).end(typeof answer === 'string' ? answer : JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const agent = outboundAgent(rules);
  onTestFinished(async () => {
    await agent.destroy();
    server.close();
  });
  const prometheus = `http://127.0.0.1:${(server.address() as AddressInfo).port}/prom/`;
  const question = { prometheus, query: 'sum(up) > 1', ...threshold };
  const { isGood, said } = await askGate(question, { rules, agent, signal: new AbortController().signal });
  return { isGood, said, asked };
}
const vector = (...values: string[]) => ({
  status: 'success',
  data: { resultType: 'vector', result: values.map((value) => ({ metric: {}, value: [1_700_000_000.5, value] })) },
});

test('one number is compared with its threshold; a number equal to it is good', async () => {
  const { asked, ...answer } = await askOf(vector('0.3'), { at_most: 0.5 });
  expect(answer).toEqual({ isGood: true, said: 'the value is 0.3' });
  expect(asked).toEqual(['/prom/api/v1/query?query=sum%28up%29+%3E+1']);
  expect(await askOf(vector('0.5'), { at_most: 0.5, at_least: 0.5 })).toMatchObject({ isGood: true });
  const low = await askOf(vector('1e-05'), { at_least: 1 });
  expect(low).toMatchObject({ isGood: false, said: 'the value is 1e-05, below at_least 1' });
  const scalar = { status: 'success', data: { resultType: 'scalar', result: [1, '7'] } };
  expect(await askOf(scalar, { at_most: 5 })).toMatchObject({ isGood: false, said: 'the value is 7, above at_most 5' });
});

test.each([
  ['no series', vector(), 'the query gives no series, and must give one'],
  ['several', vector('0', '0'), 'the query gives 2 series, and must give one'],
  [
    'a range',
    { status: 'success', data: { resultType: 'matrix', result: [] } },
    'the query gives a matrix, and must give one number',
  ],
  ['a division by nothing', vector('NaN'), 'the value is NaN, not a number'],
  ['an infinite value', vector('-Inf'), 'the value is -Inf, not a number'],
  ['no value', vector(' '), 'the value is  , not a number'],
  ['a partial answer', { ...vector('0'), warnings: ['a store is away'] }, 'it warns: a store is away'],
  ['an error', { status: 'error', errorType: 'bad_data', error: 'parse error' }, 'bad_data: parse error'],
  ['a page', '<html>', 'HTTP 200, not an answer of Prometheus'],
])('%s is not good', async (_name, answer, said) => {
  expect(await askOf(answer, { at_most: 100 })).toMatchObject({ isGood: false, said });
});

test('of a long answer the beginning is kept', async () => {
  const { said } = await askOf({ status: 'error', error: 'x'.repeat(10_000) }, { at_most: 1 });
  expect(said).toHaveLength(300);
});

test('an answer above the limits is not read', async () => {
  const { isGood, said } = await askOf(vector(...Array.from({ length: 20_000 }, () => '0')), { at_most: 1 });
  expect([isGood, said]).toEqual([false, expect.stringMatching(/^Prometheus answers with more than /)]);
});
