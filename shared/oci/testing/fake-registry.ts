import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A registry whose answers a test decides; Debian's docker-registry is in `test/system/oci-registry.test.ts`. */
export interface FakeRegistry extends AsyncDisposable {
  readonly host: string;
  /** Puts a document under a tag, too. @returns its digest */
  readonly put: (document: object, tag?: string) => string;
  /** Puts a file. @returns its digest */
  readonly putFile: (content: Buffer) => string;
  /** Answers the next requests so, one each. */
  readonly answerNext: (...answers: readonly Answer[]) => void;
  /** Every request so far: method, path, and its Authorization. */
  readonly requests: readonly string[];
  /** Challenge of each 401; `undefined` = it needs no authorization. */
  challenge: string | readonly string[] | undefined;
  /** Places where files are, by their digest: a blob store's. */
  readonly redirects: Map<string, string>;
  /** Authorizations that open it. */
  readonly opens: Set<string>;
}

export async function startFakeRegistry(): Promise<FakeRegistry> {
  const documents = new Map<string, string | Buffer>();
  const next: Answer[] = [];
  const requests: string[] = [];
  const keep = (content: string | Buffer): string => {
    const digest = `sha256:${createHash('sha256').update(content).digest('hex')}`;
    documents.set(digest, content);
    return digest;
  };
  const server = createServer((request, response) => {
    const { authorization } = request.headers;
    requests.push([request.method, request.url, authorization].filter(Boolean).join(' '));
    const odd = next.shift();
    if (odd) return odd(request, response);
    if (registry.challenge !== undefined && !registry.opens.has(authorization ?? '')) {
      response.writeHead(401, { 'WWW-Authenticate': registry.challenge as string[] }).end('{"errors":[]}');
      return undefined;
    }
    if (request.method !== 'GET') return void response.writeHead(405).end();
    const elsewhere = registry.redirects.get(request.url?.split('/').at(-1) ?? '');
    if (elsewhere !== undefined) return void response.writeHead(307, { Location: elsewhere }).end();
    const document = documents.get(request.url?.split('/').at(-1) ?? '');
    if (document === undefined) return void response.writeHead(404).end('{"errors":[{"code":"MANIFEST_UNKNOWN"}]}');
    return void response.writeHead(200, { 'Content-Type': 'text/plain' }).end(document);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const registry: FakeRegistry = {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    put: (document, tag) => {
      const text = JSON.stringify(document);
      if (tag !== undefined) documents.set(tag, text);
      return keep(text);
    },
    putFile: keep,
    answerNext: (...answers) => void next.push(...answers),
    requests,
    challenge: undefined,
    redirects: new Map(),
    opens: new Set(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return registry;
}
