import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createApiClient } from '#agent/api/api-client.ts';
import { datedKey, lateCertificate, pastCertificate } from '#agent/testing/dated-certificates.ts';
import { createServerCertificate } from '#agent/tls.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';

/** An API behind TLS whose certificate is not of this machine's time. */

const usual = getCACertificates();
const { certificatePem, keyPem } = createServerCertificate({ address: '127.0.0.1', hostName: 'api', curve: 'p256' });
beforeAll(() => setDefaultCACertificates([...usual, lateCertificate, pastCertificate, certificatePem]));
afterAll(() => setDefaultCACertificates(usual));

const day = 24 * 3_600_000;
let server: Server;
let date: Date | undefined;
let seen: string[];
const raised: Date[] = [];

beforeEach(async () => {
  date = new Date(Date.now() + day);
  seen = [];
  raised.length = 0;
  server = createServer({ cert: lateCertificate, key: datedKey }, (request, response) => {
    seen.push(`${request.method} ${request.url} ${String(request.headers['x-openstack-request-id'] ?? 'no id')}`);
    if (date) response.setHeader('date', date.toUTCString());
    else response.sendDate = false;
    response.end('{"default_version": {"version": "1.99"}}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const machineSays = new Date('2000-01-01T00:00:00Z');

function client(raiseClock?: (time: Date) => Promise<void>) {
  return createApiClient({
    urls: [`https://127.0.0.1:${(server.address() as AddressInfo).port}`],
    insecure: false,
    requestTimeoutMs: 30_000,
    globalRequestId: 'a-secret',
    log: silentLog,
    now: () => machineSays,
    raiseClock,
  });
}
const failure = (asked: Promise<unknown>): Promise<string> => asked.then(() => 'no failure', errorChain);
const setTo = async (time: Date): Promise<void> => {
  raised.push(time);
};

test("a clock that is behind the certificate is set forward by the server's, and the request is made again", async () => {
  const api = client(async (time) => {
    raised.push(time);
    // what is right once the clock is
    server.setSecureContext({ cert: certificatePem, key: keyPem });
  });
  expect(await api.version()).toBe(99);
  expect(raised).toEqual([new Date(date?.toUTCString() ?? '')]);
  // the server that answered unchecked has heard nothing else
  expect(seen).toEqual(['GET / no id', 'GET / a-secret']);
  await api.close();
});

test("where that does not help, it is not asked again, and the error says what this machine's clock says", async () => {
  const api = client(setTo);
  expect(await failure(api.version())).toContain('certificate is not yet valid');
  for (const _ of [1, 2]) {
    expect(await failure(api.version())).toMatch(
      /^GET \/ at .*: the certificate of https:\S+ is not yet valid by this machine's clock, which says 2000-01-01T00:00:00Z: /,
    );
  }
  expect(raised).toHaveLength(1);
  expect(seen).toEqual(['GET / no id']);
  await api.close();
});

test('a clock is not set back, nor by a server that says no time', async () => {
  for (const time of [new Date('1999-12-31T00:00:00Z'), undefined]) {
    date = time;
    const api = client(setTo);
    expect(await failure(api.version())).toContain('not yet valid by this machine');
    await api.close();
  }
  expect(raised).toEqual([]);
});

test('a clock that is not ours stays', async () => {
  const api = client();
  expect(await failure(api.version())).toContain('which says 2000-01-01T00:00:00Z');
  expect(seen).toEqual([]);
  await api.close();
});

test('an expired certificate is refused, whatever time the server says', async () => {
  server.setSecureContext({ cert: pastCertificate, key: datedKey });
  date = new Date('2010-06-01T00:00:00Z');
  const api = client(setTo);
  expect(await failure(api.version())).toContain("is not valid any more by this machine's clock, which says 2000");
  expect(raised).toEqual([]);
  expect(seen).toEqual([]);
  await api.close();
});
