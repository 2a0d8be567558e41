import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Dispatcher } from 'undici';
import { parse } from 'yaml';
import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';

/** Client certificates of exec plugins live for minutes: connections made with an old one must not be kept for hours. */
const dispatcherLifeMs = 300_000;

export interface Access {
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
 * What the kubeconfig says, through Kubernetes' own client, which knows the ways in which one can log in; but for
 * `tokenFile`, which is read for each request and goes before `token`, as kubectl has it.
 * @throws AppError `invalid_argument` with `details.access` for a file that can't be read or names no cluster
 */
export async function readAccess(file: string): Promise<Access> {
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
