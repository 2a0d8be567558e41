import { createEtcdClient, type EtcdClient, type EtcdLimits } from '#conductor/cluster/etcd/etcd-client.ts';
import { readEtcdTls } from '#conductor/cluster/etcd/etcd-tls.ts';
import { openCredential } from '#conductor/sites/credentials/credential-store.ts';
import type { EtcdCluster } from '#conductor/sites/site.ts';
import type { ConductorContext } from '#conductor/start/context.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface EtcdContext extends Pick<ConductorContext, 'db' | 'secrets' | 'clock' | 'log'> {
  readonly config: Pick<ConductorContext['config'], 'etcdTlsDirectory'>;
  readonly database: Pick<ConductorContext['database'], 'lock'>;
  /** Tests can't wait for a member that is cut off. */
  readonly etcdLimits?: EtcdLimits;
}

/**
 * Work with a cluster's members, and with what they ask of their clients.
 * @throws AppError `invalid_argument` for files or a credential that are not there, else what `work` throws
 */
export async function withCluster<Result>(
  { db, secrets, config, etcdLimits: limits }: Pick<EtcdContext, 'db' | 'secrets' | 'config' | 'etcdLimits'>,
  { name, tls, credential }: Pick<EtcdCluster, 'name' | 'tls' | 'credential'>,
  signal: AbortSignal | undefined,
  work: (client: EtcdClient) => Promise<Result>,
): Promise<Result> {
  const login = credential === undefined ? undefined : await openCredential({ db, secrets }, credential);
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
