import { expect, test } from 'vitest';
import { admitStrangers } from '#conductor/http/doors/admit-strangers.ts';
import { newApiApp } from '#conductor/http/routing/define-routes.ts';
import { readConfig } from '#conductor/start/config.ts';
import { silentLog } from '#shared/log.ts';

/** An address with a reserve of twenty failures. */
function strangers() {
  const config = readConfig({ BATON_PUBLIC_FAILURES_PER_SECOND: '1' });
  const time = { ms: 0 };
  const app = newApiApp();
  app.use(
    '*',
    admitStrangers(
      { config, log: silentLog, clock: { now: () => new Date(time.ms), sleep: () => Promise.resolve() } },
      () => expect.unreachable('no address is refused here'),
    ),
  );
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
  // a caller that guesses at a token is not an agent any more
  expect(await beat('n', 'wrong')).toBe(400);
  expect(await beat('n', 'right')).toBe(429);
  time.ms += 2000;
  expect(await beat('n', 'right')).toBe(202);
});

test('machines and agents are answered in their networks alone', async () => {
  const config = readConfig({ BATON_AGENT_NETWORKS: '192.0.2.0/24' });
  const reported: unknown[] = [];
  const app = newApiApp();
  app.onError((error, c) => c.text(error.message, 403));
  app.use(
    '*',
    admitStrangers(
      { config, log: silentLog, clock: { now: () => new Date(0), sleep: () => Promise.resolve() } },
      (machine, request, error) => reported.push([machine, request, error.details['advice']]),
    ),
  );
  app.all('*', (c) => c.body(null, 204));
  const from = async (remoteAddress: string, path: string) =>
    (await app.request(path, {}, { incoming: { socket: { remoteAddress } } })).status;
  const paths = [
    '/v1/lookup',
    '/lookup/',
    '/v1/heartbeat/n',
    '/progress/n',
    '/v1/neighbours/n',
    '/v1/continue_inspection',
    '/boot/node.ipxe',
  ];
  for (const path of paths) {
    expect([path, await from('::ffff:192.0.2.9', path), await from('198.51.100.9', path)]).toEqual([path, 204, 403]);
  }
  expect(await from('198.51.100.9', '/healthz')).toBe(204);
  // a machine that says who it is gets reported, one address no more than five times at once
  const advice = 'It called from 198.51.100.9: if that is the machine, add its network.';
  expect(reported).toEqual(
    ['heartbeat', 'progress', 'neighbours'].map((call) => [{ ident: 'n' }, `v1/${call}/n`, advice]),
  );
  for (let i = 0; i < 9; i += 1) await from('198.51.100.9', '/boot/node.ipxe?mac=52-54-00-12-34-56');
  expect(reported.slice(3)).toEqual([1, 2].map(() => [{ macs: ['52:54:00:12:34:56'] }, 'boot/node.ipxe', advice]));
  await from('198.51.100.10', '/v1/lookup?addresses=52:54:00:12:34:56,52:54:00:12:34:57');
  expect(reported.at(-1)).toMatchObject([
    { macs: ['52:54:00:12:34:56', '52:54:00:12:34:57'] },
    'v1/lookup',
    expect.anything(),
  ]);
});
