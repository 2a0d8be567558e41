import dns from 'node:dns';
import { createServer, type RequestListener } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import type { GateQuestion } from '#conductor/model/site/health-gate.ts';
import { askGate } from '#conductor/sites/gates/ask-gate.ts';
import { type OutboundRules, outboundAgent, parseOutboundAllowList } from '#shared/peers/outbound-url.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

const laboratory: OutboundRules = {
  setting: 'BATON_HEALTH_ALLOW',
  allow: undefined,
  allowLoopback: true,
  connectsHere: true,
};

async function listen(server: Server): Promise<string> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  closers.push(() => new Promise((resolve) => void server.close(resolve)));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  const address = await listen(server);
  closers.push(() => Promise.resolve(server.closeAllConnections()));
  return `http://${address}/healthz`;
}
function ask(question: GateQuestion, { rules = laboratory, limitMs = 10_000 } = {}) {
  const agent = outboundAgent(rules);
  closers.push(() => agent.destroy());
  return askGate(question, { rules, agent, limitMs, signal: new AbortController().signal });
}

test.each([
  [200, true],
  [204, true],
  [302, false],
  [404, false],
  [503, false],
])('HTTP %i', async (status, isGood) => {
  const http = await serve((_request, response) => void response.writeHead(status, { location: '/' }).end());
  expect(await ask({ http })).toEqual({ isGood, said: `HTTP ${status}` });
});

test('a body without an end costs no more than its limit', async () => {
  const sent = { bytes: 0 };
  const http = await serve((_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384))) sent.bytes += 16_384;
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  });
  await ask({ http });
  // what the sockets' buffers take comes on top
  expect(sent.bytes).toBeLessThan(32 * 1024 * 1024);
});

test('a server that takes the connection and never answers is not good', async () => {
  const http = await serve(() => undefined);
  expect(await ask({ http }, { limitMs: 50 })).toEqual({ isGood: false, said: 'no answer within 0.05 s' });
});

test('a port that takes connections, and one that refuses them', async () => {
  const tcp = await listen(createTcpServer((socket) => void socket.on('error', () => undefined).end()));
  expect(await ask({ tcp })).toEqual({ isGood: true, said: 'connected' });
  await Promise.all(closers.splice(0).map((close) => close()));
  const refused = await ask({ tcp });
  expect(refused.isGood).toBe(false);
  expect(refused.said).toContain('ECONNREFUSED');
});

test('neither HTTP nor TCP leads where the rules do not let it, by address or by name', async () => {
  const http = await serve((_request, response) => void response.end());
  const { host, port } = new URL(http);
  const outside = { ...laboratory, allowLoopback: false };
  const tried = [{ http }, { http: `http://localhost:${port}/` }, { tcp: host }, { tcp: `localhost:${port}` }];
  for (const question of [...tried, { http: 'http://169.254.169.254/' }, { tcp: '169.254.169.254:80' }]) {
    const { isGood, said } = await ask(question, { rules: outside });
    expect([isGood, said]).toEqual([false, expect.stringContaining('unless BATON_HEALTH_ALLOW has them')]);
  }
  const allow = parseOutboundAllowList('192.0.2.0/24');
  const { isGood, said } = await ask({ tcp: '198.51.100.1:80' }, { rules: { ...laboratory, allow } });
  expect([isGood, said]).toEqual([false, expect.stringContaining('BATON_HEALTH_ALLOW does not allow')]);
});

test('a question that this release does not know is not good', async () => {
  expect(await ask({})).toEqual({ isGood: false, said: 'this release does not know what the gate asks' });
});

test('a name that is not resolved in time is not good', async () => {
  const silent = vi.fn();
  const lookups = [vi.spyOn(dns, 'lookup'), vi.spyOn(dns.promises, 'lookup')];
  for (const lookup of lookups) lookup.mockImplementation(() => new Promise(silent));
  syncBuiltinESMExports();
  onTestFinished(() => {
    for (const lookup of lookups) lookup.mockRestore();
    syncBuiltinESMExports();
  });
  const expected = { isGood: false, said: 'no answer within 0.05 s' };
  expect(await ask({ tcp: 'slow.example:1' }, { limitMs: 50 })).toEqual(expected);
});
