import type { ConductorContext } from '#conductor/context.ts';
import { readWork } from '#conductor/flows/read-work.ts';
import { runFlow } from '#conductor/flows/run-flow.ts';
import { applyPowerTarget } from '#conductor/nodes/apply-power-target.ts';
import { claimLease, type Lease, releaseLease, renewLease } from '#conductor/nodes/node-lease.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/**
 * Does whatever is to be done for one node now, under its lease: the operator's power target, then its flow. Safe to
 * call at any time, from any conductor; whoever does not get the lease returns at once.
 */
export async function workOnNode(
  context: ConductorContext,
  nodeUuid: string,
  stop: AbortSignal,
): Promise<'done' | 'held by another'> {
  const { config } = context;
  const lease = await claimLease(context.db, nodeUuid, { holder: config.conductorName, leaseMs: config.leaseMs });
  if (!lease) return 'held by another';
  context.metrics.leasesHeld.inc();
  if (lease.takenFrom !== undefined) {
    context.metrics.leasesTakenOver.inc();
    context.log.warn({ node: nodeUuid, from: lease.takenFrom }, 'lease taken over');
  }
  const lost = new AbortController();
  lost.signal.addEventListener('abort', () => context.metrics.leasesLost.inc());
  const keepLease = leaseKeeper(context, lease, lost);
  const renewal = setInterval(() => void keepLease(), config.leaseMs / 3);
  const signal = AbortSignal.any([stop, lost.signal]);
  try {
    const work = await readWork(context.db, nodeUuid);
    const isAsked = work !== undefined && work.node.targetPowerState !== null;
    if (isAsked) await applyPowerTarget(context, lease, signal);
    await runFlow(context, lease, signal, isAsked ? undefined : work);
  } catch (error) {
    // what is stopped or taken over goes on elsewhere, from the log
    if (!signal.aborted && errorCode(error) !== 'lease_lost') throw error;
    context.log.info({ node: nodeUuid, err: error }, 'work on node left to another');
  } finally {
    clearInterval(renewal);
    context.metrics.leasesHeld.dec();
    await releaseLease(context.db, lease);
  }
  return 'done';
}

/** Renews the lease; aborts the work once the lease is lost, or may be because the database has been away too long. */
function leaseKeeper(context: ConductorContext, lease: Lease, lost: AbortController): () => Promise<void> {
  const { clock, config, log } = context;
  let renewedAt = clock.now().getTime();
  return async () => {
    const askedAt = clock.now().getTime();
    try {
      if (await renewLease(context.db, lease, config.leaseMs)) renewedAt = askedAt;
      else lost.abort(new AppError('lease_lost', `the lease on node ${lease.nodeUuid} was taken over`));
    } catch (error) {
      log.error({ node: lease.nodeUuid, err: error }, 'lease not renewed');
    }
    if (clock.now().getTime() - renewedAt >= config.leaseMs) {
      lost.abort(new AppError('lease_lost', `the lease on node ${lease.nodeUuid} could not be renewed in time`));
    }
  };
}
