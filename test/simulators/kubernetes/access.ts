import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { Refusal } from '#test/simulators/kubernetes/refusal.ts';

/** A right that the user lacks: in no namespace but these. */
export interface Denial {
  /** `create pods/eviction`, `patch nodes`, `get daemonsets.apps`. */
  readonly right: string;
  readonly allowedIn?: readonly string[];
}

/** Access control of the API server: one user, by a bearer token or a client's certificate. */
export interface AccessControl {
  /** The token of the user from now on. */
  setToken(token: string): void;
  deny(denial: Denial): void;
  /** Client certificates that were shown until now have run out. */
  expireCertificates(): void;
  /** For so long everything is refused, as by one that has not read its roles, or its tokens. */
  startAgain(ms: number, status?: 401 | 403): void;
  /** @throws Refusal 401 or 403 */
  require(request: IncomingMessage, url: URL): void;
  /** Answers as an access review does. @param namespace `''` = in all */
  allows(right: string, namespace: string): boolean;
}

const verbs: Readonly<Record<string, string>> = { POST: 'create', PATCH: 'patch', PUT: 'update', DELETE: 'delete' };

export function createAccessControl(options: {
  readonly token?: string;
  readonly clientCertificates?: boolean;
}): AccessControl {
  const state = { token: options.token, startsUntil: 0, startStatus: 403 as 401 | 403 };
  const denials: Denial[] = [];
  const seen = new Set<string>();
  const expired = new Set<string>();
  const knows = (request: IncomingMessage): boolean => {
    if (options.clientCertificates && request.socket instanceof TLSSocket) {
      const { fingerprint256: fingerprint } = request.socket.getPeerCertificate();
      if (fingerprint === undefined || expired.has(fingerprint)) return false;
      seen.add(fingerprint);
      return true;
    }
    return state.token === undefined || request.headers.authorization === `Bearer ${state.token}`;
  };
  const allows = (right: string, namespace: string): boolean =>
    denials.every((each) => each.right !== right || each.allowedIn?.includes(namespace) === true);
  return {
    setToken: (token) => {
      state.token = token;
    },
    deny: (denial) => void denials.push(denial),
    expireCertificates: () => {
      for (const each of seen) expired.add(each);
    },
    startAgain: (ms, status = 403) => {
      state.startsUntil = performance.now() + ms;
      state.startStatus = status;
    },
    require: (request, url) => {
      const isStarting = performance.now() < state.startsUntil;
      if (!knows(request) || (isStarting && state.startStatus === 401)) {
        throw new Refusal(401, 'Unauthorized', 'Unauthorized');
      }
      const { right, namespace } = rightOf(request.method ?? 'GET', url);
      if (!isStarting && allows(right, namespace)) return;
      const where = namespace === '' ? 'at the cluster scope' : `in the namespace "${namespace}"`;
      throw new Refusal(403, 'Forbidden', `User "tester" cannot ${right} ${where}`);
    },
    allows,
  };
}

/** `create pods/eviction` of a request. */
function rightOf(method: string, url: URL): { readonly right: string; readonly namespace: string } {
  const match = /^\/(?:api|apis\/([^/]+))\/[^/]+\/(.+)$/.exec(url.pathname);
  const [, group, rest = ''] = match ?? [];
  const parts = rest.split('/');
  const isInNamespace = parts[0] === 'namespaces' && parts.length > 2;
  const [plural = '', name, subresource] = isInNamespace ? parts.slice(2) : parts;
  const reads = name !== undefined ? 'get' : url.searchParams.get('watch') === 'true' ? 'watch' : 'list';
  return {
    right: nameRight({ verb: verbs[method] ?? reads, group, resource: plural, subresource }),
    namespace: isInNamespace ? (parts[1] ?? '') : '',
  };
}

export interface ReviewedRight {
  readonly verb: string;
  readonly group?: string | undefined;
  readonly resource: string;
  readonly subresource?: string | undefined;
  readonly namespace?: string | undefined;
}

export function nameRight({ verb, group, resource, subresource }: ReviewedRight): string {
  return `${verb} ${resource}${subresource ? `/${subresource}` : ''}${group ? `.${group}` : ''}`;
}
