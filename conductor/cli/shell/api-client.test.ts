import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createPlainServer } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exitCodeOf } from '#conductor/cli/run-baton.ts';
import { createApiClient } from '#conductor/cli/shell/api-client.ts';
import { readClientSettings } from '#conductor/cli/shell/client-settings.ts';
import { errorChain, isRetryable } from '#shared/errors/app-error.ts';
import { createBmcCertificate } from '#test/simulators/redfish/certificate.ts';

const tls = createBmcCertificate('127.0.0.1');
const seen: (string | undefined)[] = [];
let failsWith = 0;
const server = createServer(tls, (request, response) => {
  seen.push(request.headers.authorization);
  if (request.headers.authorization === 'Bearer wrong') response.statusCode = 401;
  if (failsWith > 0) response.statusCode = failsWith;
  response.end(response.statusCode === 401 ? '{"error_message": {"faultstring": "Who?"}}' : '{"nodes": []}');
});
let url: string;
let directory: string;

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  directory = await mkdtemp(join(tmpdir(), 'baton-client-'));
  await writeFile(join(directory, 'ca.pem'), tls.cert);
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(directory, { recursive: true });
});

const client = (environment: Record<string, string>, insecure = false) =>
  createApiClient(readClientSettings({ BATON_URL: url, ...environment }, { insecure }));

test('the certificate must be of the authority that was named, unless told otherwise', async () => {
  const authority = join(directory, 'ca.pem');
  expect(await client({ BATON_CACERT: authority, BATON_TOKEN: 'abc' }).call('GET', '/v1/nodes')).toEqual({ nodes: [] });
  expect(seen.at(-1)).toBe('Bearer abc');
  expect(await client({}, true).call('GET', '/v1/nodes')).toEqual({ nodes: [] });
  expect(seen.at(-1)).toBeUndefined();
  const before = seen.length;
  await expect(client({ BATON_TOKEN: 'abc' }).call('GET', '/v1/nodes')).rejects.toThrow(
    `reach the conductor at ${url}`,
  );
  expect(seen).toHaveLength(before);
});

test('a URL of the other kind is told in words', async () => {
  const plain = createPlainServer((_request, response) => response.end('{}'));
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
  const there = `127.0.0.1:${(plain.address() as AddressInfo).port}`;
  const messageOf = async (at: string, insecure: boolean): Promise<string> =>
    errorChain(
      await client({ BATON_URL: at }, insecure)
        .call('GET', '/')
        .then(
          () => 'reached',
          (error: unknown) => error,
        ),
    );
  for (const insecure of [false, true]) {
    expect(await messageOf(`https://${there}`, insecure)).toBe(
      `reach the conductor at https://${there} (BATON_URL): it speaks no TLS there: if it is a conductor, BATON_URL must be http://${there}`,
    );
    const http = url.replace('https', 'http');
    expect(await messageOf(http, insecure)).toBe(
      `reach the conductor at ${http} (BATON_URL): it has hung up without an answer: if it speaks TLS there, BATON_URL must be ${url}`,
    );
  }
  expect(await messageOf(url, false)).toContain(
    '(DEPTH_ZERO_SELF_SIGNED_CERT): BATON_CACERT names the file of who has',
  );
  plain.closeAllConnections();
  await new Promise((resolve) => plain.close(resolve));
  expect(await messageOf(`http://${there}`, false)).toContain('ECONNREFUSED');
});

test('wrong credentials are told without repeating them', async () => {
  const refused = client({ BATON_TOKEN: 'wrong' }, true).call('GET', '/v1/nodes');
  await expect(refused).rejects.toThrow(
    /^Who\?\n→ it does not know this token: that of BATON_TOKEN, which wins over BATON_TOKEN_FILE$/,
  );
});

test('only what may pass ends with 3; a watch looks again at every fault of the server', async () => {
  const exits: Record<number, number> = {};
  try {
    for (failsWith of [409, 500, 502, 503, 504]) {
      const error = await client({}, true)
        .call('GET', '/v1/nodes')
        .catch((cause: unknown) => cause);
      exits[failsWith] = exitCodeOf(error);
      expect(isRetryable(error)).toBe(failsWith >= 500);
    }
  } finally {
    failsWith = 0;
  }
  expect(exits).toEqual({ 409: 1, 500: 1, 502: 3, 503: 3, 504: 3 });
});
