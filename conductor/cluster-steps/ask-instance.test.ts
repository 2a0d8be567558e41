import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { whySilent } from '#conductor/cluster-steps/ask-instance.ts';
import type { InstanceAnswer } from '#conductor/model/flows/flow-states.ts';
import { type OutboundRules, parseOutboundAllowList } from '#shared/peers/outbound-url.ts';

const laboratory: OutboundRules = {
  setting: 'BATON_HEALTH_ALLOW',
  allow: undefined,
  allowLoopback: true,
  connectsHere: true,
};
const outside = { ...laboratory, allowLoopback: false };

function ask(by: InstanceAnswer['by'], target: string, rules: OutboundRules): Promise<string[]> {
  return whySilent([{ by, target }], { rules, signal: new AbortController().signal });
}

async function serve(status: number): Promise<{ readonly port: number; readonly asked: () => number }> {
  const seen = { connections: 0 };
  const server = createServer((_request, response) => void response.writeHead(status).end());
  server.on('connection', () => {
    seen.connections += 1;
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, asked: () => seen.connections };
}

test('an instance that answers as its documents ask, and one that answers with an error', async () => {
  const { port } = await serve(302);
  expect(await ask('http', `http://127.0.0.1:${port}/`, laboratory)).toEqual([]);
  expect(await ask('tcp', `localhost:${port}`, laboratory)).toEqual([]);
  const broken = await serve(503);
  const url = `http://127.0.0.1:${broken.port}/`;
  expect(await ask('http', url, laboratory)).toEqual([`http ${url}: HTTP 503`]);
});

test.each(['127.0.0.1', 'localhost'])('%s is not asked over HTTP where the rules do not let it', async (host) => {
  const { port, asked } = await serve(200);
  const why = await ask('http', `http://${host}:${port}/`, outside);
  expect(why).toEqual([expect.stringContaining('unless BATON_HEALTH_ALLOW has them')]);
  expect(asked()).toBe(0);
});

test.each(['127.0.0.1', 'localhost'])('%s is not asked over TCP where the rules do not let it', async (host) => {
  const { port, asked } = await serve(200);
  const why = await ask('tcp', `${host}:${port}`, outside);
  expect(why).toEqual([expect.stringContaining('unless BATON_HEALTH_ALLOW has them')]);
  expect(asked()).toBe(0);
});

test.each(['127.0.0.1', 'localhost', '169.254.169.254'])(
  '%s is not pinged where the rules do not let it',
  async (host) => {
    expect(await ask('ping', host, outside)).toEqual([expect.stringContaining('unless BATON_HEALTH_ALLOW has them')]);
  },
);

test.each([
  ['http', 'http://198.51.100.1/'],
  ['tcp', '198.51.100.1:22'],
  ['ping', '198.51.100.1'],
] as const)('an address outside the allowed ranges is not asked by %s', async (by, target) => {
  const rules = { ...laboratory, allow: parseOutboundAllowList('192.0.2.0/24') };
  expect(await ask(by, target, rules)).toEqual([expect.stringContaining('BATON_HEALTH_ALLOW does not allow')]);
});
