import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { GateQuestion } from '#conductor/model/site/health-gate.ts';
import { askGate } from '#conductor/sites/gates/ask-gate.ts';
import { outboundAgent } from '#shared/peers/outbound-url.ts';
import { run } from '#shared/process/run.ts';
import { freePort } from '#test/support/free-port.ts';

/** Health gates on a real Prometheus, Debian's, which watches itself and a target that is not there. */

const rules = { setting: 'BATON_HEALTH_ALLOW', allow: undefined, allowLoopback: true, connectsHere: true };
const agent = outboundAgent(rules);
const state = { url: '', directory: '' };
const end = new AbortController();
let server: Promise<unknown> = Promise.resolve();

function ask(query: string, threshold: Pick<GateQuestion, 'at_least' | 'at_most'>) {
  const { url: prometheus } = state;
  return askGate({ prometheus, query, ...threshold }, { rules, agent, signal: new AbortController().signal });
}

beforeAll(async () => {
  state.directory = await mkdtemp(join(tmpdir(), 'prometheus-'));
  const port = await freePort();
  state.url = `http://127.0.0.1:${port}`;
  const targets = `[{targets: ["127.0.0.1:${port}"]}, {targets: ["127.0.0.1:9"]}]`;
  const config = join(state.directory, 'prometheus.yml');
  await writeFile(config, `scrape_configs: [{job_name: site, scrape_interval: 1s, static_configs: ${targets}}]\n`);
  server = run(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${state.directory}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { timeoutMs: 30 * 60_000, signal: end.signal },
  ).catch((error: unknown) => error);
});
afterAll(async () => {
  end.abort(new Error('the tests have ended'));
  await server;
  await agent.destroy();
  await rm(state.directory, { recursive: true, force: true });
});

test('a gate is good once Prometheus is there and has looked at its targets', async () => {
  await expect.poll(() => ask('count(up)', { at_least: 2 })).toEqual({ isGood: true, said: 'the value is 2' });
});

test('a query with one number, on either side of its threshold', async () => {
  expect(await ask('sum(up)', { at_least: 1, at_most: 1 })).toEqual({ isGood: true, said: 'the value is 1' });
  expect(await ask('sum(up)', { at_least: 2 })).toEqual({ isGood: false, said: 'the value is 1, below at_least 2' });
  expect(await ask('scalar(sum(up)) * 3', { at_most: 2 })).toMatchObject({ isGood: false });
});

test('a query with no or many series, or a range, is not good; nor is a query that Prometheus can not parse', async () => {
  expect(await ask('up{job="nobody"}', { at_most: 5 })).toEqual({
    isGood: false,
    said: 'the query gives no series, and must give one',
  });
  expect(await ask('up', { at_most: 5 })).toEqual({
    isGood: false,
    said: 'the query gives 2 series, and must give one',
  });
  expect((await ask('up[1m]', { at_most: 5 })).said).toContain('matrix');
  expect((await ask('sum(', { at_most: 5 })).said).toMatch(/^bad_data: /);
  expect(await ask('sum(up) * 0 / 0', { at_most: 5 })).toMatchObject({
    isGood: false,
    said: 'the value is NaN, not a number',
  });
});
