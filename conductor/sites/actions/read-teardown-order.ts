import { getAction } from '#conductor/flows/actions/action-store.ts';
import type { ActionWork } from '#conductor/sites/actions/action-work.ts';
import { teardownOrder } from '#conductor/sites/actions/teardown-order.ts';
import type { TeardownOrder } from '#conductor/sites/nodes/node-order.ts';

/** How a claimed action has its nodes torn down, with the clusters that were settled when it was validated. */
export async function readTeardownOrder({
  context,
  action: { id },
  site,
}: Pick<ActionWork, 'context' | 'action' | 'site'>): Promise<TeardownOrder | undefined> {
  // the row may have been validated since it was claimed
  return teardownOrder(await getAction(context.db, id), await site(), context.config);
}
