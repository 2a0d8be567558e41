import { asStepFailure } from '#conductor/cluster/cluster-faults.ts';
import { etcdStableRound } from '#conductor/cluster/etcd/etcd-health.ts';
import type { EtcdContext } from '#conductor/cluster/etcd/open-cluster.ts';
import { type EtcdWork, removeEtcdRound } from '#conductor/cluster/etcd/remove-etcd-round.ts';
import type { Journal } from '#conductor/cluster/journal.ts';
import { repeatRounds } from '#conductor/cluster/repeat-rounds.ts';
import type { RoundMessage } from '#conductor/cluster/round.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface EtcdStep extends EtcdWork {
  /** Seconds for all of it. */
  readonly timeout: number;
  /** Fires when nobody waits for it any more. */
  readonly signal: AbortSignal;
  readonly journal?: Journal | undefined;
}

/** A member that comes back is seen after so long at the latest. */
const removeEveryMs = 5_000;
/** Seed 001, "Ensure that etcd cluster(s) are in a stable state": polls for status every 30 seconds. */
const stableEveryMs = 30_000;

/**
 * Has the node's members leave their clusters, from the first round until it is done.
 * @throws AppError `not_found` for a node that is not the site's, `unavailable` when it was stopped in the middle; else
 * `command_failed` with `details.reason` and `details.messages`
 */
export function removeEtcd(context: EtcdContext, step: EtcdStep): Promise<readonly RoundMessage[]> {
  const what = `removal of etcd from node ${step.node}`;
  return runStep('RemoveEtcdError', step, () =>
    repeatRounds((signal, announce) => removeEtcdRound(context, { ...step, signal, announce }), {
      what,
      timeoutMs: step.timeout * 1000,
      everyMs: removeEveryMs,
      signal: step.signal,
      journal: step.journal,
    }),
  );
}

/** Waits until the site's clusters are well without the node. @throws AppError as `removeEtcd` */
export function waitForStableEtcd(context: EtcdContext, step: EtcdStep): Promise<readonly RoundMessage[]> {
  return runStep('EtcdNotStable', step, () =>
    repeatRounds((signal) => etcdStableRound(context, { ...step, signal }), {
      what: `wait for etcd to be stable without node ${step.node}`,
      timeoutMs: step.timeout * 1000,
      everyMs: stableEveryMs,
      signal: step.signal,
    }),
  );
}

async function runStep(
  reason: string,
  { node, site }: EtcdWork,
  work: () => Promise<readonly RoundMessage[]>,
): Promise<readonly RoundMessage[]> {
  if (!site.nodes.has(node)) throw new AppError('not_found', `the design has no node ${node}`);
  try {
    return await work();
  } catch (error) {
    throw asStepFailure(error, `etcd of ${node}`, reason);
  }
}
