import type { Dispatcher } from 'undici';
import type { Cluster, Reply, RequestOptions } from '#conductor/cluster/kubernetes/cluster.ts';
import { refusalOf } from '#conductor/cluster/kubernetes/refusal.ts';
import { keepWatching } from '#conductor/cluster/kubernetes/watch.ts';
import { inTime } from '#conductor/kernel/in-time.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { askPeer, openPeerLines, type PeerRequest } from '#shared/peers/ask-peer.ts';

export interface ClusterOptions {
  /** Milliseconds for one request; default 15,000. */
  readonly requestTimeoutMs?: number;
}

/** Client certificates of exec plugins live for minutes: connections made with an old one must not be kept for hours. */
const dispatcherLifeMs = 300_000;

/**
 * The cluster of a kubeconfig file's current context. The file is read again each time, so a rotated credential needs no
 * restart.
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
  const late = { code: 'unavailable', message: `BATON_KUBECONFIG: a login with ${file} takes too long` } as const;
  const access = await inTime(readAccess(file), Math.max(timeoutMs, 15_000), late);
  const prepare = async (method: PeerRequest['method'], url: URL, init: RequestOptions): Promise<PeerRequest> => {
    // a plugin of the kubeconfig that hangs must not hold up more than this request
    const late = { code: 'unavailable', message: 'the login of the kubeconfig takes too long' } as const;
    const { headers, dispatcher } = await inTime(access.credentials(url), timeoutMs, late);
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
  };

  const request: Cluster['request'] = async (method, path, init = {}): Promise<Reply> => {
    init.signal?.throwIfAborted();
    const limitMs = Math.min(timeoutMs, init.timeoutMs ?? timeoutMs);
    const limit = AbortSignal.timeout(limitMs);
    const signal = init.signal ? AbortSignal.any([init.signal, limit]) : limit;
    const what = `${method} ${path} at the Kubernetes API server ${access.server}`;
    try {
      const url = address(access.server, path, init.query);
      const answer = await askPeer('kubernetes', url, { ...(await prepare(method, url, init)), signal });
      // a proxy's page: its status says what matters
      const body = answer.body ?? answer.text();
      if (answer.status < 200 || answer.status >= 300) throw refusalOf(what, path, answer.status, body);
      return { body, serverTime: new Date(String(answer.headers['date'] ?? new Date().toUTCString())) };
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      if (init.signal?.aborted) throw new AppError('aborted', `${what} was given up`, { cause: init.signal.reason });
      if (limit.aborted) throw new AppError('unavailable', `${what}: no answer within ${limitMs / 1000} s`);
      throw new AppError('unavailable', what, { cause });
    }
  };

  return {
    server: access.server,
    request,
    watch: (path, query, signal, changed, lost) => {
      const connect = async (version: string): ReturnType<typeof openPeerLines> => {
        const more = { watch: 'true', allowWatchBookmarks: 'true', resourceVersion: version };
        const url = address(access.server, path, { ...query, ...more });
        return openPeerLines('kubernetesEvent', url, { ...(await prepare('GET', url, {})), signal });
      };
      void keepWatching({ connect, list: () => request('GET', path, { query, signal }), signal, changed, lost });
    },
    close: () => access.close(),
  };
}

interface Access {
  readonly server: string;
  credentials(url: URL): Promise<{
    readonly headers: Readonly<Record<string, string>>;
    readonly dispatcher: Dispatcher | undefined;
  }>;
  close(): Promise<void>;
}

/** What the kubeconfig says, through Kubernetes' own client, which knows every way in which one can log in. */
async function readAccess(file: string): Promise<Access> {
  // only conductors with a cluster pay for it
  const { KubeConfig, RequestContext, HttpMethod } = await import('#conductor/cluster/kubernetes/log-in.ts');
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
  let kept: { readonly dispatcher: Dispatcher; readonly since: number } | undefined;
  const logIn = async (url: string): Promise<InstanceType<typeof RequestContext>> => {
    const context = new RequestContext(url, HttpMethod.GET);
    await config.applySecurityAuthentication(context);
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
    close: async () => kept?.dispatcher.destroy(),
  };
}

function address(server: string, path: string, query: Readonly<Record<string, string>> = {}): URL {
  const url = new URL(`${server}${path}`);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}
