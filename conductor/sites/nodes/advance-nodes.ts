import type { ConductorContext } from '#conductor/context.ts';
import type { NodeOrder, NodeOutcome, SiteWork } from '#conductor/sites/nodes/node-order.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * One beat for all nodes that an action has at work: what each is now and what it needs next, done as far as that goes
 * at once. All that it knows is in the database, so that it may be called by any conductor, at any time, again.
 * @returns one outcome for each order; `done` and `failed` are final for this phase
 * @throws AppError `database_error`
 */
export function advanceNodes(
  _context: ConductorContext,
  work: SiteWork & { readonly orders: readonly NodeOrder[] },
): Promise<ReadonlyMap<string, NodeOutcome>> {
  throw new AppError('not_supported', `prepare and deploy ${work.orders.length} nodes: not built yet`);
}
