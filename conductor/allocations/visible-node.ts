import { and } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { visibleNodes } from '#conductor/nodes/node-ownership.ts';
import { isNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * UUID of the node that a request's `node` names.
 * @throws AppError `invalid_argument` (it is the request that is wrong) for one that is not there, or that a caller bound
 * to the project may not know of.
 */
export async function namedNode(db: Queryable, ident: string, project: string | undefined): Promise<string> {
  const [node] = await db
    .select({ uuid: nodes.uuid })
    .from(nodes)
    .where(and(isNode(ident), visibleNodes(project)));
  if (node) return node.uuid;
  throw new AppError('invalid_argument', `node: Node ${ident} could not be found.`);
}
