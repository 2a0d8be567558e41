import { Agent } from 'undici';
import { reportSilence } from '#conductor/drivers/bmc-silence.ts';
import { stoppedError } from '#conductor/drivers/call-deadline.ts';
import { type BmcTls, tlsOptions } from '#conductor/drivers/redfish/client/bmc-tls.ts';
import type { RedfishConnection } from '#conductor/drivers/redfish/client/driver-info.ts';
import { requireOwnPath } from '#conductor/drivers/redfish/client/own-path.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { askPeer, type PeerAnswer } from '#shared/peers/ask-peer.ts';
import type { FileBody } from '#shared/peers/file-form.ts';
import { type OutboundRules, outboundAgent } from '#shared/peers/outbound-url.ts';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

export interface TransportRequest {
  readonly method: Method;
  /** Absolute path on the BMC. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** In place of the body; the answer may begin as late as `timeoutMs` says. */
  readonly form?: FileBody;
  readonly timeoutMs?: number;
  /** Whether it may be asked once more after a failure that says nothing of it; default: what is no POST. */
  readonly mayRepeat?: boolean;
  readonly signal?: AbortSignal;
}

export interface RedfishAnswer {
  readonly status: number;
  /** Lower-case names; of a repeated header the first. */
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON whatever the content type says; else the text; `undefined` when empty. */
  readonly body: unknown;
  /** The path that was asked, of an answer that the client has taken. */
  readonly asked?: string;
}

/** One HTTP exchange without authentication, retries or judgement of the status. */
export interface Transport {
  send(options: TransportRequest): Promise<RedfishAnswer>;
  close(): Promise<void>;
}

export interface TransportLimits {
  /** Milliseconds to connect, TLS included. */
  readonly connectMs: number;
  /** Milliseconds until the answer's header, and between two parts of its body. */
  readonly answerMs: number;
}

export function createTransport(
  connection: Pick<RedfishConnection, 'origin' | keyof BmcTls>,
  limits: TransportLimits,
  outbound?: OutboundRules,
): Transport {
  const { origin } = connection;
  const options: Agent.Options = {
    // BMCs have few sockets, and some of them announce HTTP/2 and break on it
    connections: 2,
    allowH2: false,
    // idle connections are ours to close, early: a POST on one that the BMC just closed could not be repeated safely
    keepAliveTimeout: 2000,
    keepAliveMaxTimeout: 2000,
    headersTimeout: limits.answerMs,
    bodyTimeout: limits.answerMs,
    connect: {
      allowH2: false,
      timeout: limits.connectMs,
      ...tlsOptions(connection),
    },
  };
  const agent = outbound ? outboundAgent(outbound, options) : new Agent(options);
  return {
    send: async (options) => {
      const url = new URL(`${origin}${requireOwnPath(options.path, origin)}`);
      const what = `${options.method} ${url.href}`;
      try {
        const { form } = options;
        const ask = (encoding: 'identity' | 'gzip'): Promise<PeerAnswer> =>
          askPeer('bmc', url, {
            who: 'the BMC',
            dispatcher: agent,
            method: options.method,
            headers: {
              accept: 'application/json',
              'accept-encoding': encoding,
              'odata-version': '4.0',
              ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
              ...(form && { 'content-type': form.contentType, 'content-length': String(form.bytes) }),
              ...options.headers,
            },
            body: form ?? (options.body === undefined ? undefined : JSON.stringify(options.body)),
            timeoutMs: options.timeoutMs,
            headersTimeoutMs: options.timeoutMs,
            signal: options.signal,
          });
        // as it is first: of a compressed resource the ETag is a weak one (sushy); iLO has some in gzip alone
        // a file takes as long as it takes
        const plain = await (form ? ask('identity') : reportSilence(what, ask('identity')));
        const answer = plain.status === 406 ? await ask('gzip') : plain;
        const body = answer.body ?? (answer.text().trim() || undefined);
        return { status: answer.status, headers: firstValues(answer.headers), body };
      } catch (cause) {
        throw transportError(what, cause, options.signal);
      }
    },
    close: () => agent.destroy(),
  };
}

/** Whether the BMC broke off amid a document, as some do that are short of memory. */
export function isBrokenJson(body: unknown): boolean {
  return typeof body === 'string' && /^\uFEFF?\s*[{[]/.test(body);
}

/** Whether a web server has answered in the place of the service, as those of BMCs do that start. */
export function isPage({ status, body }: Pick<RedfishAnswer, 'status' | 'body'>): boolean {
  const isOfService = status < 500 && ![401, 403].includes(status);
  return isOfService && typeof body === 'string' && /^\uFEFF?\s*</.test(body);
}

function transportError(what: string, cause: unknown, signal: AbortSignal | undefined): AppError {
  if (signal?.aborted) return stoppedError(signal, what);
  if (cause instanceof AppError) return cause;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/.test(code)) {
    return new AppError('timeout', `${what} was not answered in time`, { cause, details: { sent: true } });
  }
  if (/^ERR_SSL_|^EPROTO$/.test(code)) {
    const fields = 'redfish_tls_minimum_version, redfish_tls_ciphers and the scheme of redfish_address';
    return new AppError('bmc_error', `${what}: the BMC does not speak TLS as asked; ${fields} say how`, {
      cause,
      situation: 'bmc_certificate',
    });
  }
  if (/CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS/.test(code)) {
    return new AppError('bmc_error', `${what}: the certificate does not fit redfish_verify_ca`, {
      cause,
      situation: 'bmc_certificate',
    });
  }
  return new AppError('unavailable', `${what} got no answer`, { cause, details: { sent: wasSent(code) } });
}

/** Whether the BMC may have seen the request: then one that acts must not be repeated blindly. */
function wasSent(code: string): boolean {
  const neverConnected = ['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTDOWN'];
  return code !== 'UND_ERR_CONNECT_TIMEOUT' && !neverConnected.includes(code);
}

function firstValues(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => {
      const first = Array.isArray(value) ? value[0] : value;
      return first === undefined ? [] : [[name, first]];
    }),
  );
}
