import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServedSwitch, SwitchFaults } from '#test/simulators/switch/switch-server.ts';
import { makeCertificate } from '#test/support/certificate.ts';

/** A switch's HTTPS server, whatever its API: certificate, basic authentication, delays, lost connections. */

export interface HttpsRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** By basic authentication. */
  readonly isKnown: boolean;
}

export interface HttpsAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, unless it is text. */
  readonly body?: unknown;
}

export interface HttpsSwitch extends ServedSwitch {
  readonly faults: Pick<SwitchFaults, 'cutAt' | 'commandMs'>;
  readonly certificate: string;
  readonly ca: string;
  /** Connections that were ever made. */
  readonly connections: { ever: number };
  /** Drops connections as a restart does. */
  dropConnections(): void;
}

const username = 'baton';
const password = 'correct horse';
const basic = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

export async function startHttpsSwitch(
  handle: (request: HttpsRequest) => HttpsAnswer | Promise<HttpsAnswer>,
): Promise<HttpsSwitch> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-switch-'));
  const { certFile, keyFile } = await makeCertificate(folder, 'leaf1');
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  const certificate = new X509Certificate(cert).fingerprint256;
  const faults: HttpsSwitch['faults'] = { cutAt: undefined, commandMs: 0 };
  const commands: string[] = [];
  const connections = { ever: 0 };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const url = new URL(request.url ?? '/', 'https://leaf1');
    const body = Buffer.concat(parts).toString();
    commands.push(`${request.method} ${url.pathname}${url.search} ${body}`);
    if (faults.commandMs > 0) await sleep(faults.commandMs);
    const { cutAt } = faults;
    if (cutAt) cutAt.command -= 1;
    const isCut = cutAt?.command === 0;
    if (isCut) faults.cutAt = undefined;
    const isDone = !isCut || cutAt.done;
    const answer = isDone
      ? await handle({
          method: request.method ?? '',
          path: decodeURI(url.pathname),
          query: url.searchParams,
          headers: request.headers,
          body,
          isKnown: request.headers.authorization === basic,
        })
      : {};
    if (isCut) {
      await cutAt.kill?.();
      return void request.socket.destroy();
    }
    response.writeHead(answer.status ?? 200, { 'content-type': 'application/json', ...answer.headers });
    response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body ?? {}));
  };
  const server = createServer({ cert, key }, (request, response) => {
    void serve(request, response);
  });
  server.on('secureConnection', () => {
    connections.ever += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `https:127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    endpoint,
    username,
    password,
    access: {
      endpoint,
      login: { username, password: async () => password, hostKey: undefined, certificate },
      createVlans: true,
    },
    faults,
    commands,
    connections,
    certificate,
    ca: cert,
    dropConnections: () => server.closeAllConnections(),
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export const unauthorized: HttpsAnswer = { status: 401, body: 'Unable to authenticate user' };
