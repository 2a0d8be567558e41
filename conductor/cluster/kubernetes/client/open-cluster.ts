import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import { parse } from 'yaml';
import { z } from 'zod';
import { isUntrusted } from '#conductor/cluster/cluster-faults.ts';
import type { Cluster, Reply, RequestOptions } from '#conductor/cluster/kubernetes/client/cluster.ts';
import { isAccessFault, refusalOf } from '#conductor/cluster/kubernetes/client/refusal.ts';
import { keepWatching } from '#conductor/cluster/kubernetes/client/watch.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { inTime } from '#shared/in-time.ts';
import { askPeer, askPeerForStatus, openPeerLines, type PeerRequest } from '#shared/peers/ask-peer.ts';

interface ClusterOptions {
  /** Milliseconds for one request; default 15,000. */
  readonly requestTimeoutMs?: number;
}

/** An API server that has just started refuses everybody until it has read its roles: for about a second. */
const startMs = 3_000;
const askAgainMs = 200;

/**
 * Opens the cluster of a kubeconfig file's current context. The file is read again when the server does not take its
 * credential any more, so a rotated one needs no restart; what an API server refuses while it starts is asked for again.
 * @throws AppError `invalid_argument` when no file is set, it can't be read, or names no cluster
 */
export async function openCluster(file: string | undefined, options: ClusterOptions = {}): Promise<Cluster> {
  if (file === undefined) {
    throw new AppError(
      'invalid_argument',
      'this conductor knows no Kubernetes cluster: set BATON_KUBECONFIG to a kubeconfig file',
      { details: { cause: 'NoKubernetesCluster' } },
    );
  }
  const timeoutMs = options.requestTimeoutMs ?? 15_000;
  const open = async (): Promise<Access> => {
    // on a busy machine to load the client takes longer than a login with it
    await import('#conductor/cluster/kubernetes/client/log-in.ts');
    const late = { code: 'unavailable', message: `BATON_KUBECONFIG: a login with ${file} takes too long` } as const;
    return inTime(readAccess(file), Math.max(timeoutMs, 15_000), late);
  };
  const login = { access: await open(), opening: undefined as Promise<void> | undefined };
  /** Once for all who were refused with the same one. */
  const reopen = async (refused: Access): Promise<void> => {
    if (login.access !== refused) return;
    login.opening ??= open()
      .then((access) => {
        login.access = access;
        refused.retire();
      })
      .finally(() => {
        login.opening = undefined;
      });
    await login.opening;
  };

  const request: Cluster['request'] = async (method, path, init = {}) => {
    const limitMs = Math.min(timeoutMs, init.timeoutMs ?? timeoutMs);
    const since = performance.now();
    for (let [isReopened, isMeant] = [false, false]; ; ) {
      const { access } = login;
      try {
        return await askOnce(access, { method, path, init, limitMs });
      } catch (error) {
        if (!(error instanceof AppError) || !isAccessFault(error)) throw error;
        const { status } = error.details;
        if (status !== 403) await reopen(access);
        const isNews = status !== 403 && !isReopened;
        isReopened = true;
        if (isNews) continue;
        if (isMeant || status === undefined || performance.now() - since > startMs) throw error;
        // it may have started just now
        isMeant = await isReady(login.access, init.signal);
        if (!isMeant) await sleep(askAgainMs);
      }
    }
  };

  return {
    server: login.access.server,
    request,
    watch: (path, query, signal, changed, lost) => {
      const connect = async (version: string): ReturnType<typeof openPeerLines> => {
        const more = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: version };
        const url = address(login.access.server, path, { ...query, ...more });
        return openPeerLines('kubernetesEvent', url, {
          ...(await prepare(login.access, url, { method: 'GET', init: {}, limitMs: timeoutMs })),
          signal,
        });
      };
      void keepWatching({ connect, list: () => request('GET', path, { query, signal }), signal, changed, lost });
    },
    close: () => login.access.close(),
  };
}

interface Asked {
  readonly method: PeerRequest['method'];
  readonly path: string;
  readonly init: RequestOptions;
  readonly limitMs: number;
}

async function prepare(
  access: Access,
  url: URL,
  { method, init, limitMs }: Pick<Asked, 'method' | 'init' | 'limitMs'>,
): Promise<PeerRequest> {
  // a plugin of the kubeconfig that hangs must not hold up more than this request
  const late = { code: 'unavailable', message: 'the login of the kubeconfig takes too long' } as const;
  const { headers, dispatcher } = await inTime(access.credentials(url), limitMs, late);
  return {
    who: `the Kubernetes API server ${access.server}`,
    method,
    headers: {
      ...headers,
      accept: 'application/json',
      ...(init.body === undefined ? {} : { 'content-type': init.contentType ?? 'application/json' }),
    },
    body: init.body === undefined ? undefined : JSON.stringify(init.body),
    dispatcher,
  };
}

async function askOnce(access: Access, { method, path, init, limitMs }: Asked): Promise<Reply> {
  init.signal?.throwIfAborted();
  const limit = AbortSignal.timeout(limitMs);
  const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
  const what = `${method} ${path} at the Kubernetes API server ${access.server}`;
  try {
    const url = address(access.server, path, init.query);
    const answer = await askPeer('kubernetes', url, {
      ...(await prepare(access, url, { method, init, limitMs })),
      signal,
    });
    // a proxy's page: its status says what matters
    const body = answer.body ?? answer.text();
    if (answer.status < 200 || answer.status >= 300) throw refusalOf(what, path, answer.status, body);
    const date = new Date(String(answer.headers['date']));
    return { body, serverTime: Number.isNaN(date.getTime()) ? undefined : date };
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    if (init.signal?.aborted) throw new AppError('aborted', `${what} was given up`, { cause: init.signal.reason });
    if (limit.aborted) throw new AppError('unavailable', `${what}: no answer within ${limitMs / 1000} s`);
    if (isUntrusted(cause)) {
      const why = "its certificate doesn't fit the certificate-authority of the kubeconfig's cluster";
      throw new AppError('forbidden', `${what}: ${why}`, { cause, details: { access: true } });
    }
    throw new AppError('unavailable', what, { cause });
  }
}

/** Returns whether the API server says that it has started, so that its refusals are meant. */
async function isReady(access: Access, signal: AbortSignal | undefined): Promise<boolean> {
  const url = address(access.server, '/readyz');
  const limits = { method: 'GET', init: {}, limitMs: startMs } as const;
  try {
    const request = { ...(await prepare(access, url, limits)), timeoutMs: startMs, signal };
    return (await askPeerForStatus('kubernetes', url, request)) === 200;
  } catch {
    return false;
  }
}

function address(server: string, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(`${server}${path}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/** Client certificates of exec plugins live for minutes: connections made with an old one must not be kept for hours. */
const dispatcherLifeMs = 300_000;

interface Access {
  readonly server: string;
  credentials(url: URL): Promise<{
    readonly headers: Readonly<Record<string, string>>;
    readonly dispatcher: Dispatcher | undefined;
  }>;
  /** Lets what is under way end. */
  retire(): void;
  close(): Promise<void>;
}

const TokenFiles = z.object({
  users: z
    .array(z.object({ name: z.string(), user: z.object({ tokenFile: z.string().optional() }).nullish() }))
    .nullish(),
});

/**
 * Reads the kubeconfig through Kubernetes' own client, which knows the ways in which one can log in; but for
 * `tokenFile`, which is read for each request and goes before `token`, as kubectl has it.
 * @throws AppError `invalid_argument` with `details.access` for a file that can't be read or names no cluster
 */
async function readAccess(file: string): Promise<Access> {
  // only conductors with a cluster pay for it
  const { KubeConfig, RequestContext, HttpMethod } = await import('#conductor/cluster/kubernetes/client/log-in.ts');
  const config = new KubeConfig();
  try {
    config.loadFromFile(file);
  } catch (cause) {
    throw new AppError('invalid_argument', `BATON_KUBECONFIG: read ${file}`, { cause, details: { access: true } });
  }
  const server = config.getCurrentCluster()?.server.replace(/\/+$/, '');
  if (server === undefined || !URL.canParse(server)) {
    throw new AppError('invalid_argument', `BATON_KUBECONFIG: ${file} has no current context with a cluster's server`, {
      details: { access: true },
    });
  }
  const tokenFile = await readTokenFile(file, config.getCurrentUser()?.name);
  let kept: { readonly dispatcher: Dispatcher; readonly since: number } | undefined;
  const logIn = async (url: string): Promise<InstanceType<typeof RequestContext>> => {
    const context = new RequestContext(url, HttpMethod.GET);
    await config.applySecurityAuthentication(context);
    if (tokenFile !== undefined) {
      context.setHeaderParam('Authorization', `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}`);
    }
    return context;
  };
  await logIn(server).catch((cause: unknown) => {
    throw new AppError('invalid_argument', `BATON_KUBECONFIG: prepare a login with ${file}`, {
      cause,
      details: { access: true },
    });
  });
  return {
    server,
    credentials: async (url) => {
      const context = await logIn(url.href);
      const dispatcher = context.getDispatcher();
      // each call makes a new one, with which no connection would ever be used twice
      if (dispatcher && (!kept || performance.now() - kept.since > dispatcherLifeMs)) {
        void kept?.dispatcher.close();
        kept = { dispatcher, since: performance.now() };
      }
      return { headers: context.getHeaders(), dispatcher: kept?.dispatcher };
    },
    retire: () => void kept?.dispatcher.close().catch(() => undefined),
    close: async () => kept?.dispatcher.destroy(),
  };
}

/** A relative path is one beside the kubeconfig. */
async function readTokenFile(file: string, user: string | undefined): Promise<string | undefined> {
  const parsed = TokenFiles.safeParse(parse(await readFile(file, 'utf8')));
  const found = parsed.data?.users?.find(({ name }) => name === user)?.user?.tokenFile;
  return found ? resolve(dirname(file), found) : undefined;
}
