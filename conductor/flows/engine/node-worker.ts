import type { EngineContext } from '#conductor/flows/context.ts';
import { applyBootTargets, applyPowerTarget } from '#conductor/flows/engine/apply-targets.ts';
import { createCallsAtWork } from '#conductor/flows/engine/cancel-call.ts';
import { runFlow } from '#conductor/flows/engine/run-flow.ts';
import { listOpenSteps } from '#conductor/flows/log/flow-store.ts';
import { readWork } from '#conductor/flows/log/read-work.ts';
import { isConnectionLost } from '#conductor/kernel/db/faults.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { readMoment } from '#conductor/kernel/lease.ts';
import { claimLease, keepLease, type Lease, releaseLease } from '#conductor/nodes/node-lease.ts';
import type { Clock } from '#shared/clock.ts';
import { errorCode } from '#shared/errors/app-error.ts';
import { backOffMs, retry } from '#shared/retry.ts';

/** The database's clock, as long as a lease lasts: its time at the claim, and this process' steady clock since. */
function clockSince(clock: Clock, { claimedAtMs }: Lease, monotonicMs: number): Clock {
  if (claimedAtMs === undefined) return clock;
  return { ...clock, now: () => new Date(claimedAtMs + performance.now() - monotonicMs) };
}

/** @throws what it was rejected with */
function valueOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') throw settled.reason;
  return settled.value;
}

/** An operator waits for more than a flow. */
function hasTarget({ targetPowerState, targetBootMode, targetSecureBoot }: NodeRow): boolean {
  return [targetPowerState, targetBootMode, targetSecureBoot].some((target) => target !== null);
}

/**
 * Does whatever is to be done for one node now, under its lease: the operator's power target, then its flow. Safe to
 * call at any time, from any conductor; a conductor that does not get the lease, is of another group, or does not know the driver,
 * returns at once. `not known here`: its flow needs a conductor of another release.
 */
export async function workOnNode(
  context: EngineContext,
  nodeUuid: string,
  stop: AbortSignal,
  /** Gets, while the node is held, what is to be called when something about it has changed. */
  onHeld: (look: (() => void) | undefined) => void = () => undefined,
): Promise<'done' | 'left to others' | 'not known here'> {
  const { config } = context;
  const claimedAt = readMoment();
  const [claimed, ...read] = await context.database.inOrder((db) =>
    Promise.allSettled([
      claimLease(db, nodeUuid, {
        holder: config.conductorName,
        leaseMs: config.leaseMs,
        attends: attendedNodes(context),
      }),
      readWork(db, nodeUuid),
      listOpenSteps(db, nodeUuid),
    ]),
  );
  const lease = valueOf(claimed);
  if (!lease) return 'left to others';
  context.metrics.leasesHeld.inc();
  if (lease.takenFrom !== undefined) {
    context.metrics.leasesTakenOver.inc();
    context.log.warn({ node: nodeUuid, from: lease.takenFrom }, 'lease taken over');
  }
  const kept = keepLease(context, lease, claimedAt);
  kept.signal.addEventListener('abort', () => context.metrics.leasesLost.inc());
  const signal = AbortSignal.any([stop, kept.signal]);
  // limits are compared with what other conductors wrote: by the database's clock, for the hosts' may differ, or be set
  const clock = clockSince(context.clock, lease, claimedAt.monotonicMs);
  const fencedContext = fenceContext({ ...context, clock }, kept.requireHeld);
  let isReleased = false;
  const calls = createCallsAtWork(context, nodeUuid);
  onHeld(() => {
    kept.renewNow();
    calls.look();
  });
  try {
    const [work, steps] = [valueOf(read[0]), valueOf(read[1])];
    const isAsked = work !== undefined && hasTarget(work.node);
    // before power: what the firmware is set to holds from the next boot on
    if (isAsked) await applyBootTargets(fencedContext, lease, signal);
    if (isAsked) await applyPowerTarget(fencedContext, lease, signal);
    const came = await runFlow(fencedContext, lease, { signal, calls }, isAsked ? undefined : { work, steps });
    isReleased = came === 'released';
    return came === 'released' ? 'done' : came;
  } catch (error) {
    // what is stopped or taken over goes on elsewhere, from the log
    if (!signal.aborted && errorCode(error) !== 'lease_lost') throw error;
    context.log.info({ node: nodeUuid, err: error }, 'work on node left to another');
    return 'done';
  } finally {
    onHeld(undefined);
    kept.stop();
    context.metrics.leasesHeld.dec();
    if (!isReleased) await letGo(context, lease, stop);
  }
}

/**
 * Releases the lease, and where the database can't be reached, once it can: the node would wait for the rest of the
 * lease's time.
 */
async function letGo({ db, config }: EngineContext, lease: Lease, stop: AbortSignal): Promise<void> {
  await retry(() => releaseLease(db, lease), {
    withinMs: config.leaseMs,
    passes: (error) => isConnectionLost(error) && !stop.aborted,
    delayMs: (attempt) => backOffMs({ firstMs: 50, mostMs: 1000 }, attempt),
  });
}

/** Returns which nodes this conductor works on. */
export function attendedNodes({ config, drivers }: Pick<EngineContext, 'config' | 'drivers'>) {
  return { group: config.conductorGroup, drivers: drivers.hardwareTypes.map(({ name }) => name) };
}

/**
 * Returns the context with `requireHeld` asked before each call to a BMC, an agent or a switch: what is recorded is fenced
 * by the lease's token, but hardware knows no tokens.
 */
export function fenceContext<Context extends Pick<EngineContext, 'drivers' | 'agents' | 'networks'>>(
  context: Context,
  requireHeld: () => void,
): Context {
  const { drivers, agents, networks } = context;
  return {
    ...context,
    drivers: {
      ...drivers,
      connect: (...args) => fenceObject(drivers.connect(...args), requireHeld),
    },
    agents: {
      ...agents,
      clientFor: (session, signal) => fenceObject(agents.clientFor(session, signal), requireHeld),
    },
    networks: {
      ...networks,
      connect: (request) => {
        requireHeld();
        return networks.connect(request);
      },
    },
  };
}

/** The object, each of whose functions, at any depth, asks first. */
export function fenceObject<T extends object>(target: T, requireHeld: () => void): T {
  return new Proxy(target, {
    get: (object, key): unknown => {
      const value: unknown = Reflect.get(object, key);
      if (typeof value === 'function') {
        return (...args: unknown[]): unknown => {
          requireHeld();
          return Reflect.apply(value, object, args);
        };
      }
      return typeof value === 'object' && value !== null && !Array.isArray(value)
        ? fenceObject(value, requireHeld)
        : value;
    },
  });
}
