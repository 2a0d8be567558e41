import { createEtcdClient, type EtcdClient, type EtcdLimits } from '#conductor/cluster/etcd/etcd-client.ts';
import type { EtcdCluster, EtcdLogin } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { readEtcdTls } from '#conductor/cluster/etcd/etcd-tls.ts';
import type { Clock } from '#shared/clock.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

export interface EtcdContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly config: { readonly etcdTlsDirectory: string };
  readonly database: Locks;
  /** By the name that documents have; `undefined` = there is none. */
  readonly openCredential: (name: string) => Promise<EtcdLogin | undefined>;
  /** Tests can't wait for a member that is cut off. */
  readonly etcdLimits?: EtcdLimits;
}

/**
 * Does work with a cluster's members, opened with the certificates and credentials that they ask of their clients.
 * @throws AppError `invalid_argument` for files or a credential that are not there, else what `work` throws
 */
export async function withCluster<Result>(
  { openCredential, config, etcdLimits: limits }: Pick<EtcdContext, 'openCredential' | 'config' | 'etcdLimits'>,
  { name, tls, credential }: Pick<EtcdCluster, 'name' | 'tls' | 'credential'>,
  signal: AbortSignal | undefined,
  work: (client: EtcdClient) => Promise<Result>,
): Promise<Result> {
  const login = credential === undefined ? undefined : await openCredential(credential);
  if (credential !== undefined && !login)
    throw new AppError('invalid_argument', `etcd cluster ${name}: there is no stored credential ${credential}`);
  const client = createEtcdClient({
    tls: tls === undefined ? undefined : await readEtcdTls(config.etcdTlsDirectory, tls),
    login,
    signal,
    ...(limits ? { limits } : {}),
  });
  try {
    return await work(client);
  } finally {
    await client.close();
  }
}

/** Locks that all conductors of a database share. */
interface Locks {
  lock(name: string): { take(): Promise<boolean>; release(): Promise<void> };
}

/**
 * Does the work unless somebody, here or in another conductor, does so for the same cluster: two removals that were
 * decided on the same look would together take what neither may.
 * @returns `undefined` when somebody does
 */
export async function aloneWithCluster<Result>(
  database: Locks,
  cluster: string,
  work: () => Promise<Result>,
): Promise<Result | undefined> {
  const lock = database.lock(`etcd cluster ${cluster}`);
  try {
    return (await lock.take()) ? await work() : undefined;
  } finally {
    await lock.release();
  }
}
