import type { ConductorContext } from '#conductor/context.ts';
import type { NodeReport, SiteWork } from '#conductor/sites/nodes/node-order.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Brings rack, tags, labels, traits and resource class in line with the documents; deploys nothing. */
export function relabelNodes(
  _context: ConductorContext,
  work: SiteWork & { readonly names: readonly string[] },
): Promise<ReadonlyMap<string, NodeReport>> {
  throw new AppError('not_supported', `relabel ${work.names.length} nodes: not built yet`);
}
