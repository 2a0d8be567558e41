import { createPrivateKey, createSign, randomUUID, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A service that gives a registry's tokens (distribution specification, "Token Authentication"). */
export interface TokenService extends AsyncDisposable {
  /** `auth` of the registry's configuration: it verifies the tokens by the service's certificate. */
  readonly auth: object;
  /** Requests so far: user and scope. */
  readonly asked: readonly string[];
}

interface TokenOptions {
  readonly certFile: string;
  readonly keyFile: string;
  readonly user: string;
  readonly password: string;
  /** Seconds that a token is good for. */
  readonly lifetime?: number;
}

const service = 'registry.test';
const issuer = 'baton test';

export async function startTokenService({ lifetime = 300, ...options }: TokenOptions): Promise<TokenService> {
  const key = createPrivateKey(await readFile(options.keyFile, 'utf8'));
  const certificate = new X509Certificate(await readFile(options.certFile, 'utf8'));
  const asked: string[] = [];
  const header = { typ: 'JWT', alg: 'ES256', x5c: [certificate.raw.toString('base64')] };
  const login = `Basic ${Buffer.from(`${options.user}:${options.password}`).toString('base64')}`;
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://service');
    const scope = searchParams.get('scope') ?? '';
    const { authorization } = request.headers;
    if (authorization !== undefined && authorization !== login) {
      response.writeHead(401).end();
      return;
    }
    asked.push(`${authorization === undefined ? 'nobody' : options.user} ${scope}`);
    const [type, name, actions = ''] = scope.split(':');
    // everybody may read what is public
    const isOpen = authorization !== undefined || (name?.startsWith('public/') && actions === 'pull');
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      iss: issuer,
      sub: options.user,
      aud: searchParams.get('service'),
      iat: now,
      nbf: now - 10,
      exp: now + lifetime,
      jti: randomUUID(),
      access: isOpen ? [{ type, name, actions: actions.split(',') }] : [],
    };
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signed = `${encode(header)}.${encode(claims)}`;
    const signature = createSign('sha256').update(signed).sign({ key, dsaEncoding: 'ieee-p1363' });
    response.writeHead(200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ token: `${signed}.${signature.toString('base64url')}`, expires_in: lifetime }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const realm = `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`;
  return {
    auth: { token: { realm, service, issuer, rootcertbundle: options.certFile } },
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
