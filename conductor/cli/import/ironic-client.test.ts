import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { connectIronic } from '#conductor/cli/import/ironic-client.ts';

type Answer = readonly [status: number, body: unknown, headers?: Record<string, string>];

/** Asks a server that answers as given by path. */
async function withServer(answers: Readonly<Record<string, Answer>>, ask: (url: string) => Promise<void>) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const root: Answer = [200, { version: { version: '1.90' } }];
    const [status, body, headers] = { '/v1': root, ...answers }[request.url ?? ''] ?? [404, {}];
    response.writeHead(status, headers).end(JSON.stringify(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await ask(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return asked;
}

test('a page that is missing, for its marker was deleted, is an error', async () => {
  const first: Answer = [200, { nodes: [{ uuid: 'u1' }], next: 'more' }];
  await withServer({ '/v1/nodes/detail?limit=1000': first }, async (url) => {
    const client = await connectIronic(url, {});
    await expect(client.list('/v1/nodes/detail', 'nodes')).rejects.toThrow('the list changed meanwhile (u1 is gone)');
  });
});

test('a server without nodes, or with another document, is no Ironic; collections of newer ones may be missing', async () => {
  await withServer({ '/v1/ports/detail?limit=1000': [200, { hello: 1 }] }, async (url) => {
    const client = await connectIronic(url, {});
    await expect(client.list('/v1/nodes/detail', 'nodes', { isRequired: true })).rejects.toThrow('it has no nodes');
    await expect(client.list('/v1/ports/detail', 'ports')).rejects.toThrow('it has no ports');
    expect(await client.list('/v1/runbooks', 'runbooks')).toEqual([]);
  });
});

test('a redirect is not followed with the token', async () => {
  const asked = await withServer({ '/v1': [302, {}, { location: '/elsewhere' }] }, async (url) => {
    await expect(connectIronic(url, { 'X-Auth-Token': 't' })).rejects.toThrow('it redirects to /elsewhere');
  });
  expect(asked).toEqual(['/v1']);
});
