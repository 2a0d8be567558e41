import { and, eq, sql } from 'drizzle-orm';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeInventory } from '#conductor/kernel/db/schema/node-parts.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Where a report comes from, and how often unknown machines have reported from there. */
export interface DiscoverySource {
  readonly address: string;
  /** The /24 of an IPv4 address, which is what is behind one DHCP relay; the /48 of an IPv6 address. */
  readonly network: string;
  /** Seconds until the address may report another unknown machine; 0 = it may now. */
  waitSeconds(): number;
  count(): void;
}

/** Parts of BATON_DISCOVERY_LIMIT: what reports itself is anybody's, and must leave room for others. */
const shares = { address: 8, network: 2 } as const;

/** Key of a discovered node's mark, in its `plugin_data`, until it is inspected by its own agent. */
const mark = 'baton_discovered_from';

export function markSource(source: DiscoverySource | undefined): JsonObject {
  return source === undefined ? {} : { [mark]: { address: source.address, network: source.network } };
}

/**
 * Counts a report of an unknown machine, and lets it pass while all such nodes, and those of its address and network, are
 * within their limits.
 * @throws AppError `unavailable` naming the limit and what to do.
 */
export async function requireRoom(db: Queryable, source: DiscoverySource | undefined, limit: number): Promise<void> {
  const refuse = (why: string): never => {
    throw new AppError('unavailable', `enrol a discovered machine: ${why}`);
  };
  const wait = source?.waitSeconds();
  if (wait) refuse(`${source?.address} has reported too many unknown machines; the next in ${wait} s`);
  source?.count();
  const waiting = await db.$count(nodes, eq(nodes.provisionState, 'enroll'));
  if (waiting >= limit)
    refuse(`${waiting} nodes are in enroll, and BATON_DISCOVERY_LIMIT is ${limit}: delete some, or manage them`);
  if (source === undefined) return;
  for (const kind of ['address', 'network'] as const) {
    const most = Math.ceil(limit / shares[kind]);
    // below the share none can have filled it
    if (waiting < most) continue;
    const isFrom = eq(sql`${nodeInventory.pluginData} -> ${mark}::text ->> ${kind}::text`, source[kind]);
    const [row] = await db
      .select({ count: sql<number>`count(*)::int` })
      .from(nodes)
      .innerJoin(nodeInventory, eq(nodeInventory.nodeUuid, nodes.uuid))
      .where(and(eq(nodes.provisionState, 'enroll'), isFrom));
    if (row && row.count >= most)
      refuse(
        `${most} nodes in enroll have reported themselves from ${source[kind]}, and no more may of BATON_DISCOVERY_LIMIT ` +
          `(${limit}): manage them, or \`baton node delete --discovered SINCE --yes\``,
      );
  }
}
