import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { Hono } from 'hono';
import { doneHeader } from '#agent/image/neighbours/serve-chunks.ts';
import { createSharing, type Sharing, type SharingOptions } from '#agent/image/neighbours/share.ts';
import { startServer } from '#agent/serve/server.ts';
import { createServerCertificate } from '#agent/tls.ts';
import { systemClock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { type Neighbour, signTicket, type Ticket } from '#shared/wire/neighbours.ts';

const sha256 = (data: string | Buffer): string => createHash('sha256').update(data).digest('hex');

/** One for all: made for each, they would take as long as the tests. */
const certificate = {
  ...createServerCertificate({ address: '127.0.0.1', hostName: 'test', curve: 'p256' }),
  minVersion: 'TLSv1.2' as const,
  ciphers: undefined,
  curve: 'p256' as const,
};
const certificateSha256 = sha256(new X509Certificate(certificate.certificatePem).raw);

/** The conductor's part: lists to each who else is there, and signs tickets. */
export interface Tracker {
  readonly ask: (name: string) => SharingOptions['ask'];
  readonly add: (neighbour: Neighbour) => void;
  readonly sign: (ticket: Partial<Ticket>) => string;
  readonly publicKeyPem: string;
}

export function createTracker({ fails = false }: { readonly fails?: boolean } = {}): Tracker {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  const members = new Map<string, Neighbour>();
  const sign: Tracker['sign'] = (ticket) =>
    signTicket(
      {
        id: '0123456789abcdef',
        url: 'https://127.0.0.1:1',
        certificate_sha256: certificateSha256,
        group: sha256('group'),
        expires: Date.now() + 600_000,
        ...ticket,
      },
      privateKey,
    );
  return {
    ask: (name) => (request) => {
      if (fails) return Promise.reject(new AppError('unavailable', 'the conductor is down'));
      const self = { id: sha256(name).slice(0, 16), url: `https://127.0.0.1:${request.port}` };
      const neighbour = { ...self, certificate_sha256: request.certificate_sha256 };
      members.set(self.id, neighbour);
      return Promise.resolve({
        ticket: sign(neighbour),
        public_key: publicKeyPem,
        neighbours: [...members.values()].filter(({ id }) => id !== self.id),
        next_ms: 1000,
      });
    },
    add: (neighbour) => void members.set(neighbour.id, neighbour),
    sign,
    publicKeyPem,
  };
}

export function startSharing(tracker: Tracker, name: string, log = silentLog, port = 0): Sharing & AsyncDisposable {
  const sharing = createSharing({
    ask: tracker.ask(name),
    certificate,
    host: '127.0.0.1',
    port,
    clock: systemClock,
    log,
    signal: new AbortController().signal,
  });
  return { ...sharing, [Symbol.asyncDispose]: () => sharing.close() };
}

/** How a neighbour answers that means no good. It says that it has all. */
export type Misbehaviour = (id: string) => Response | Promise<Response>;
export const misbehaviours: Readonly<Record<string, Misbehaviour>> = {
  lies: () => new Response('not that chunk'),
  'sends another chunk': () => new Response(Buffer.from('28b52ffd0400010000', 'hex')),
  'sends too much': () => new Response(Buffer.alloc(9_000_000)),
  redirects: () => new Response(null, { status: 302, headers: { location: 'http://127.0.0.1:9/' } }),
  'has nothing': () => new Response(null, { status: 404 }),
  'has it soon, for ever': () => new Response(null, { status: 425 }),
  'is busy': () => new Response(null, { status: 503 }),
  'says it is tired': () => new Response(null, { status: 500 }),
  'never answers': () => new Promise(() => undefined),
};

export async function startMisbehaving(
  tracker: Tracker,
  name: string,
  misbehaves: Misbehaviour,
): Promise<AsyncDisposable & { readonly asked: () => number }> {
  const app = new Hono();
  let asked = 0;
  app.get('/', (c) => c.body(null, 204, { [doneHeader]: '999999' }));
  app.get('/:id', (c) => {
    asked += 1;
    return misbehaves(c.req.param('id'));
  });
  const server = await startServer(app, { host: '127.0.0.1', port: 0 }, certificate);
  tracker.add({
    id: sha256(name).slice(0, 16),
    url: `https://127.0.0.1:${server.port}`,
    certificate_sha256: certificateSha256,
  });
  return { asked: () => asked, [Symbol.asyncDispose]: () => server.close() };
}
