import { fence } from '#conductor/background/fence.ts';
import type { ConductorContext } from '#conductor/context.ts';
import type { NodeRow } from '#conductor/db/schema/node.ts';
import { readWork } from '#conductor/flows/read-work.ts';
import { runFlow } from '#conductor/flows/run-flow.ts';
import { applyBootTargets } from '#conductor/nodes/apply-boot-targets.ts';
import { applyPowerTarget } from '#conductor/nodes/apply-power-target.ts';
import { keepLease, moment } from '#conductor/nodes/keep-lease.ts';
import { claimLease, releaseLease } from '#conductor/nodes/node-lease.ts';
import { errorCode } from '#shared/errors/app-error.ts';

/** An operator waits for more than a flow. */
function hasTarget({ targetPowerState, targetBootMode, targetSecureBoot }: NodeRow): boolean {
  return [targetPowerState, targetBootMode, targetSecureBoot].some((target) => target !== null);
}

/**
 * Does whatever is to be done for one node now, under its lease: the operator's power target, then its flow. Safe to
 * call at any time, from any conductor; who does not get the lease, or is of another group, returns at once.
 */
export async function workOnNode(
  context: ConductorContext,
  nodeUuid: string,
  stop: AbortSignal,
): Promise<'done' | 'left to others'> {
  const { config } = context;
  const claimedAt = moment();
  const lease = await claimLease(context.db, nodeUuid, {
    holder: config.conductorName,
    leaseMs: config.leaseMs,
    group: config.conductorGroup,
  });
  if (!lease) return 'left to others';
  context.metrics.leasesHeld.inc();
  if (lease.takenFrom !== undefined) {
    context.metrics.leasesTakenOver.inc();
    context.log.warn({ node: nodeUuid, from: lease.takenFrom }, 'lease taken over');
  }
  const kept = keepLease(context, lease, claimedAt);
  kept.signal.addEventListener('abort', () => context.metrics.leasesLost.inc());
  const signal = AbortSignal.any([stop, kept.signal]);
  const fencedContext = fence(context, kept.requireHeld);
  try {
    const work = await readWork(context.db, nodeUuid);
    const isAsked = work !== undefined && hasTarget(work.node);
    // before power: what the firmware is told holds from the next boot on
    if (isAsked) await applyBootTargets(fencedContext, lease, signal);
    if (isAsked) await applyPowerTarget(fencedContext, lease, signal);
    await runFlow(fencedContext, lease, signal, isAsked ? undefined : work);
  } catch (error) {
    // what is stopped or taken over goes on elsewhere, from the log
    if (!signal.aborted && errorCode(error) !== 'lease_lost') throw error;
    context.log.info({ node: nodeUuid, err: error }, 'work on node left to another');
  } finally {
    kept.stop();
    context.metrics.leasesHeld.dec();
    await releaseLease(context.db, lease);
  }
  return 'done';
}
