import { eq } from 'drizzle-orm';
import { createAllocations } from '#conductor/allocations/create-allocation.ts';
import { allocations } from '#conductor/kernel/db/schema/allocation.ts';
import type { SitesContext } from '#conductor/sites/context.ts';
import type { SiteWork } from '#conductor/sites/nodes/node-order.ts';
import { requestVersion, siteCaller } from '#conductor/sites/nodes/site-caller.ts';
import type { SiteNode } from '#conductor/sites/site.ts';
import { errorCode } from '#shared/errors/app-error.ts';

/** Seconds that a reservation waits for what holds the node for moments; then it says what stands against it. */
const reservationWait = 60;

/**
 * Reserves a node for the site, under the node's name where that is free: whoever has taken the name before does not keep
 * the site from its own nodes.
 * @throws AppError as `POST /v1/allocations` would
 */
export async function reserveNode(
  context: SitesContext,
  {
    action,
    wanted,
    nodeUuid,
  }: { readonly action: SiteWork['action']; readonly wanted: SiteNode; readonly nodeUuid: string },
): Promise<void> {
  const reservation = {
    resource_class: wanted.resourceClass,
    traits: [...wanted.traits],
    candidate_nodes: [nodeUuid],
    extra: { site_action: action.id },
    wait: reservationWait,
  };
  const options = { caller: siteCaller(action), version: requestVersion, actionId: action.id };
  try {
    await createAllocations(context, { ...reservation, name: wanted.name }, options);
  } catch (error) {
    if (errorCode(error) !== 'conflict') throw error;
    const [holder] = await context.db.select().from(allocations).where(eq(allocations.name, wanted.name));
    // another conductor has been faster
    if (holder && holder.actionId !== null && holder.candidateNodes[0] === nodeUuid) return;
    if (!holder) throw error;
    await createAllocations(context, reservation, options);
  }
}
