import type { ConductorContext } from '#conductor/context.ts';
import { runFlow } from '#conductor/flows/run-flow.ts';
import { applyPowerTarget } from '#conductor/nodes/apply-power-target.ts';
import { claimLease, type Lease, releaseLease, renewLease } from '#conductor/nodes/node-lease.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/**
 * Does whatever is to be done for one node now, under its lease: the operator's power target, then its flow. Safe to
 * call at any time, from any conductor; whoever does not get the lease returns at once.
 */
export async function workOnNode(context: ConductorContext, nodeUuid: string, stop: AbortSignal): Promise<void> {
  const { config } = context;
  const lease = await claimLease(context.db, nodeUuid, { holder: config.conductorName, leaseMs: config.leaseMs });
  if (!lease) return;
  const lost = new AbortController();
  const renewal = setInterval(() => void keepLease(context, lease, lost), config.leaseMs / 3);
  const signal = AbortSignal.any([stop, lost.signal]);
  try {
    await applyPowerTarget(context, lease, signal);
    await runFlow(context, lease, signal);
  } catch (error) {
    // what is stopped or taken over goes on elsewhere, from the log
    if (!signal.aborted && errorCode(error) !== 'lease_lost') throw error;
    context.log.info({ node: nodeUuid, err: error }, 'work on node left to another');
  } finally {
    clearInterval(renewal);
    await releaseLease(context.db, lease);
  }
}

async function keepLease(context: ConductorContext, lease: Lease, lost: AbortController): Promise<void> {
  try {
    if (await renewLease(context.db, lease, context.config.leaseMs)) return;
    lost.abort(new AppError('lease_lost', `the lease on node ${lease.nodeUuid} was taken over`));
  } catch (error) {
    // not renewed in time, it expires by itself and the fencing token keeps us from recording anything
    context.log.error({ node: lease.nodeUuid, err: error }, 'lease not renewed');
  }
}
