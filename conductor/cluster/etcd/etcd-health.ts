import type { EtcdCluster } from '#conductor/cluster/etcd/etcd-cluster.ts';
import { faultOf } from '#conductor/cluster/etcd/etcd-fault.ts';
import { findTroubles } from '#conductor/cluster/etcd/find-troubles.ts';
import { lookAtCluster } from '#conductor/cluster/etcd/look-at-cluster.ts';
import { type EtcdContext, withCluster } from '#conductor/cluster/etcd/open-cluster.ts';
import type { RoundMessage } from '#conductor/cluster/round.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';

export interface HealthMessage extends RoundMessage {
  readonly message: 'Healthy' | 'Unhealthy' | 'Unable to access Etcd';
  readonly kind: 'HealthMessage';
  /** The cluster. */
  readonly name: string;
  /** Ours: why it is not healthy. */
  readonly causes?: readonly string[];
}

/**
 * How each cluster is, in the seed's words ("Check etcd"): one that answers and is not well is no error, one that can't be
 * asked is.
 * @throws AppError `command_failed` with `details.reason` `EtcdNotAccessible` when something else than etcd answers for
 * one; `details.messages` has all clusters, that one as what can't be asked
 */
export async function readEtcdHealth(
  context: EtcdContext,
  clusters: readonly EtcdCluster[],
  signal?: AbortSignal,
): Promise<HealthMessage[]> {
  const strangers: AppError[] = [];
  const messages = await Promise.all(
    clusters.map(async (cluster): Promise<HealthMessage> => {
      const about = { kind: 'HealthMessage', name: cluster.name } as const;
      try {
        const view = await withCluster(context, cluster, signal, (client) => lookAtCluster(client, cluster));
        const causes = findTroubles(view, cluster.minimumMembers);
        if (causes.length === 0) return { message: 'Healthy', error: false, ...about };
        return { message: 'Unhealthy', error: false, ...about, causes };
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        if (faultOf(error) === 'invalid') strangers.push(error);
        return { message: 'Unable to access Etcd', error: true, ...about, causes: [errorChain(error)] };
      }
    }),
  );
  const [cause] = strangers;
  if (!cause) return messages;
  const details = { reason: 'EtcdNotAccessible', messages };
  throw new AppError('command_failed', 'ask etcd for its health', { cause, details });
}
