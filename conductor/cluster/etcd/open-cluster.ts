import { createEtcdClient, type EtcdClient, type EtcdLimits } from '#conductor/cluster/etcd/etcd-client.ts';
import type { EtcdCluster, EtcdLogin } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { readEtcdTls } from '#conductor/cluster/etcd/etcd-tls.ts';
import type { Locks } from '#conductor/cluster/etcd/lock-cluster.ts';
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
 * Work with a cluster's members, and with what they ask of their clients.
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
