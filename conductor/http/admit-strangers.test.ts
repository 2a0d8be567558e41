import { expect, test } from 'vitest';
import { readConfig } from '#conductor/config.ts';
import { admitStrangers } from '#conductor/http/admit-strangers.ts';
import { newApiApp } from '#conductor/http/api-app.ts';

/** An address with a reserve of twenty failures. */
function strangers() {
  const config = readConfig({ BATON_PUBLIC_FAILURES_PER_SECOND: '1' });
  const time = { ms: 0 };
  const app = newApiApp();
  app.use('*', admitStrangers({ config, clock: { now: () => new Date(time.ms), sleep: () => Promise.resolve() } }));
  app.post('/v1/heartbeat/:node', (c) => c.body(null, c.req.header('token') === 'right' ? 202 : 400));
  app.get('/v1/lookup', (c) => c.body(null, c.req.query('addresses') === 'known' ? 200 : 404));
  const send = async (method: string, path: string, headers = {}) =>
    (await app.request(path, { method, headers })).status;
  return {
    time,
    beat: (node: string, token: string) => send('POST', `/v1/heartbeat/${node}`, { token }),
    lookUp: (addresses: string) => send('GET', `/v1/lookup?addresses=${addresses}`),
  };
}

async function times(count: number, ask: () => Promise<number>): Promise<number> {
  const statuses = [];
  for (let i = 0; i < count; i += 1) statuses.push(await ask());
  return statuses.filter((status) => status === 429).length;
}

test('what succeeds never counts', async () => {
  const { beat, lookUp } = strangers();
  expect(await times(200, () => beat('n', 'right'))).toBe(0);
  expect(await times(200, () => lookUp('known'))).toBe(0);
});

test('agents that have called in go on, whatever others do behind their address', async () => {
  const { beat, lookUp, time } = strangers();
  await beat('n', 'right');
  expect(await times(30, () => lookUp('unknown'))).toBe(10);
  expect(await beat('n', 'right')).toBe(202);
  expect(await beat('new', 'right')).toBe(429);
  // whoever guesses at a token is no agent any more
  expect(await beat('n', 'wrong')).toBe(400);
  expect(await beat('n', 'right')).toBe(429);
  time.ms += 2000;
  expect(await beat('n', 'right')).toBe(202);
});
