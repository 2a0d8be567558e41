import { and, asc, eq } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';
import { nameSome } from '#shared/name-some.ts';

const namedNodes = 5;

/**
 * What to say of nodes that the site has deployed, that run what it deployed still, and that are in no document any more:
 * `2 deployed nodes are in no document any more: n1, n2; they stay as they are`. `undefined` = there are none.
 * @param names of the nodes in the documents
 */
export async function describeLeftBehind(db: Queryable, names: ReadonlySet<string>): Promise<string | undefined> {
  const rows = await db
    .select({ name: siteNodes.name })
    .from(siteNodes)
    .innerJoin(nodes, and(eq(nodes.uuid, siteNodes.nodeUuid), eq(nodes.instanceUuid, siteNodes.instanceUuid)))
    .orderBy(asc(siteNodes.name));
  const left = rows.flatMap(({ name }) => (names.has(name) ? [] : [name]));
  if (left.length === 0) return undefined;
  const listed = nameSome(left, namedNodes);
  const [whose, stays] =
    left.length === 1
      ? ['1 deployed node is', 'it stays as it is']
      : [`${left.length} deployed nodes are`, 'they stay as they are'];
  return `${whose} in no document any more: ${listed}; ${stays} (baton undeploy frees a node)`;
}
