import { Agent } from 'undici';
import { z } from 'zod';
import type { EtcdLogin } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { etcdError, faultOf, requestError } from '#conductor/cluster/etcd/etcd-fault.ts';
import { type EtcdTls, refusedCertificate } from '#conductor/cluster/etcd/etcd-tls.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { askPeer } from '#shared/peers/ask-peer.ts';

/** etcd's v3 as JSON (grpc-gateway, etcd 3.4 and later): 64-bit numbers are text, and what is zero or empty is left out. */

const id = z.string().regex(/^\d{1,20}$/);
const flag = z.boolean().default(false);
const texts = z.array(z.string()).default([]);

export const StatusAnswer = z.object({
  header: z.object({ cluster_id: id, member_id: id }),
  version: z.string().default(''),
  /** Absent = it knows of none. */
  leader: id.optional(),
  raftIndex: z.string().regex(/^\d+$/).default('0'),
  errors: texts,
  isLearner: flag,
});

export const MemberListAnswer = z.object({
  members: z.array(
    z.object({
      ID: id,
      /** Empty until it has been started for the first time. */
      name: z.string().default(''),
      peerURLs: texts,
      clientURLs: texts,
      isLearner: flag,
    }),
  ),
});

export const AlarmAnswer = z.object({
  alarms: z.array(z.object({ memberID: id.default('0'), alarm: z.string().default('NONE') })).default([]),
});

const HealthAnswer = z.object({ health: z.enum(['true', 'false']), reason: z.string().optional() });

const TokenAnswer = z.object({ token: z.string().min(1) });

/** Answer of calls that act: that it is not an error says all. */
export const AnyAnswer = z.looseObject({});

const ErrorAnswer = z.object({ error: z.string(), code: z.number().optional() });

export interface EtcdLimits {
  /** Milliseconds to connect, TLS included. */
  readonly connectMs: number;
  /** Milliseconds for a question, all in all. */
  readonly askMs: number;
  /** Milliseconds for what etcd has to agree on: its own limit is 5 s and twice the election timeout. */
  readonly actMs: number;
}

const defaultLimits: EtcdLimits = { connectMs: 3_000, askMs: 8_000, actMs: 15_000 };

/** One cluster's members by URL, with its credentials. Errors name the URL; `faultOf` gives their kind. */
export interface EtcdClient {
  /** A call of the v3 API, `/v3/cluster/member/list`. @throws AppError */
  post<Schema extends z.ZodType>(
    url: string,
    path: string,
    body: object,
    answer: Schema,
    options?: { readonly acts: boolean },
  ): Promise<z.infer<Schema>>;
  /**
   * Resolves with the member's health as it reports it: it has the word of a quorum, whatever alarm about space there
   * is. @throws AppError
   */
  isHealthy(url: string): Promise<boolean>;
  close(): Promise<void>;
}

interface EtcdClientOptions {
  readonly tls?: EtcdTls | undefined;
  readonly login?: EtcdLogin | undefined;
  readonly limits?: EtcdLimits;
  readonly signal?: AbortSignal | undefined;
}

/** gRPC's codes of a wrong password (3), a user who may not (7), and one who is not known (16). */
const denials: ReadonlySet<number> = new Set([3, 7, 16]);

export function createEtcdClient({ tls, login, limits = defaultLimits, signal }: EtcdClientOptions): EtcdClient {
  const agent = new Agent({
    allowH2: false,
    connect: { allowH2: false, timeout: limits.connectMs, ...tls },
  });
  const tokens = new Map<string, Promise<string | undefined>>();

  const exchange = async (url: string, options: { body?: object; token?: string | undefined; ms: number }) => {
    try {
      return await askPeer('etcd', url, {
        who: new URL(url).origin,
        dispatcher: agent,
        method: options.body ? 'POST' : 'GET',
        headers: options.token === undefined ? {} : { authorization: options.token },
        body: options.body && JSON.stringify(options.body),
        signal,
        timeoutMs: options.ms,
      });
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof AppError) throw etcdError('invalid', cause.message);
      const refused = wasClosed(cause)
        ? await refusedCertificate(url, { tls, connectMs: limits.connectMs })
        : undefined;
      throw refused ?? requestError(new URL(url).origin, cause);
    }
  };

  const call = async <Schema extends z.ZodType>(
    url: string,
    options: { body: object; token?: string | undefined; ms: number },
    schema: Schema,
  ): Promise<z.infer<Schema>> => {
    const { status, text, body } = await exchange(url, options);
    const refusal = ErrorAnswer.safeParse(body);
    if (refusal.success) {
      const { error, code = 0 } = refusal.data;
      const isDenied = denials.has(code) || /user name (is empty|not found)/.test(error);
      throw etcdError(isDenied ? 'denied' : 'refused', `${new URL(url).origin} refuses: ${error}`);
    }
    const answer = schema.safeParse(body);
    if (status === 200 && answer.success) return answer.data;
    throw strangeAnswer(url, status, text());
  };

  /** Logs in, and gives the token; none for a cluster that asks for none. */
  const logIn = async (url: string, { username, password }: EtcdLogin): Promise<string | undefined> => {
    try {
      const body = { name: username, password };
      return (await call(`${url}/v3/auth/authenticate`, { body, ms: limits.askMs }, TokenAnswer)).token;
    } catch (error) {
      if (faultOf(error) === 'refused' && errorChain(error).includes('authentication is not enabled')) return undefined;
      throw error;
    }
  };
  const tokenFor = async (url: string): Promise<string | undefined> => {
    if (!login) return undefined;
    const token = tokens.get(url) ?? logIn(url, login);
    tokens.set(url, token);
    return token;
  };

  return {
    post: async (url, path, body, answer, options) => {
      const token = await tokenFor(url);
      return call(`${url}${path}`, { body, token, ms: options?.acts ? limits.actMs : limits.askMs }, answer);
    },
    isHealthy: async (url) => {
      // 503 goes with "false"
      const { status, text, body } = await exchange(`${url}/health?exclude=NOSPACE`, { ms: limits.askMs });
      const answer = HealthAnswer.safeParse(body);
      if (answer.success) return answer.data.health === 'true';
      throw strangeAnswer(`${url}/health`, status, text());
    },
    close: () => agent.destroy(),
  };
}

/**
 * Makes the error for an answer that etcd would not give. With users and passwords etcd refuses a client certificate whose
 * name is one of its users, and says so in plain text.
 */
function strangeAnswer(url: string, status: number, text: string): AppError {
  if (text.includes('CommonName of client'))
    return etcdError('denied', `${url}: client.crt must have no CommonName where etcd asks for user and password`);
  const start = JSON.stringify(text.slice(0, 80));
  return etcdError('invalid', `${url} answered ${status} ${start}, which is nothing that etcd would say`);
}

function wasClosed(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && ['UND_ERR_SOCKET', 'ECONNRESET'].includes(String(cause.code));
}
