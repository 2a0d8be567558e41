import type { ConductorContext } from '#conductor/context.ts';
import type { NodeReport, SiteWork } from '#conductor/sites/nodes/node-order.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Looks whether nodes are what the documents say, and whether their BMCs answer; touches nothing. */
export function verifyNodes(
  _context: ConductorContext,
  work: SiteWork & { readonly names: readonly string[] },
): Promise<ReadonlyMap<string, NodeReport>> {
  throw new AppError('not_supported', `verify ${work.names.length} nodes: not built yet`);
}
