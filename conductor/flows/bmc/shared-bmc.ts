import { and, isNotNull, ne } from 'drizzle-orm';
import { addressUrl } from '#conductor/drivers/address-url.ts';
import { findDriver } from '#conductor/drivers/table/driver-table.ts';
import type { ConductorStepOutcome, StepContext } from '#conductor/flows/step-context.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';

/** Interval of looking whether the other machine may lose its BMC by now. */
const checkEveryMs = 15_000;

/**
 * Waits while a machine behind the same BMC must not lose power, as blades and multi-system servers share one: what restarts
 * the BMC, or empties its queue, would end that machine's flash. `undefined` = none is known to.
 */
export async function untilBmcIsFree(context: StepContext, action: string): Promise<ConductorStepOutcome | undefined> {
  const { db, node, clock, config } = context;
  const host = hostOf(node);
  if (host === undefined) return undefined;
  const { uuid, name, driver, driverInfo, powerHold } = nodes;
  const held = await context.ask(
    db
      .select({ uuid, name, driver, driverInfo, powerHold })
      .from(nodes)
      .where(and(isNotNull(powerHold), ne(uuid, node.uuid))),
  );
  for (const other of held) {
    const leftMs = other.powerHold ? Date.parse(other.powerHold.until) - clock.now().getTime() : 0;
    if (leftMs <= 0 || hostOf(other) !== host) continue;
    return {
      kind: 'again',
      reason: `${action}, which the machine of node ${other.name ?? other.uuid} shares: ${other.powerHold?.why}`,
      code: 'power_held',
      subject: other.name ?? other.uuid,
      timeoutMs: leftMs + config.retryTimeoutMs,
      checkEveryMs,
    };
  }
  return undefined;
}

/** Finds host and port of the BMC; `undefined` for a driver without one, or an address that is none. */
function hostOf(node: Pick<StepContext['node'], 'driver' | 'driverInfo'>): string | undefined {
  const field = findDriver(node.driver)?.bmc?.address;
  const address = field === undefined ? undefined : node.driverInfo[field];
  return typeof address === 'string' ? URL.parse(addressUrl(address))?.host : undefined;
}
