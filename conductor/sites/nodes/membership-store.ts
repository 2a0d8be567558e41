import { eq, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { isAmong, rowsOf } from '#conductor/kernel/db/query/statement.ts';
import {
  type ClusterMembershipRow,
  type ClusterRegistration,
  clusterMemberships,
} from '#conductor/kernel/db/schema/node-parts.ts';
import { siteNodes } from '#conductor/kernel/db/schema/site.ts';

export type Membership = Pick<ClusterMembershipRow, 'registrations' | 'etcdClusters'>;
type Seen = Omit<ClusterRegistration, 'at'>;

/** By node; of nodes that were never seen in a cluster nothing. */
export async function readMemberships(
  db: Queryable,
  nodeUuids: readonly string[],
): Promise<ReadonlyMap<string, Membership>> {
  if (nodeUuids.length === 0) return new Map();
  const rows = await db.select().from(clusterMemberships).where(isAmong(clusterMemberships.nodeUuid, nodeUuids));
  return new Map(rows.map((row) => [row.nodeUuid, row]));
}

/** Whether `noteRegistration` would change nothing. Pure. */
export function isNoted(known: Membership | undefined, { uid, bootId }: Seen): boolean {
  return known?.registrations.some((each) => each.uid === uid && each.bootId === bootId) === true;
}

/** Remembers that the machine was seen in Kubernetes like this. */
export async function noteRegistration(tx: Transaction, nodeUuid: string, seen: Seen): Promise<void> {
  await change(tx, nodeUuid, (known, at) =>
    isNoted(known, seen) ? {} : { registrations: [...known.registrations, { ...seen, at }] },
  );
}

/** Remembers that a member on the machine is taken out of the cluster. */
export async function noteEtcdMember(tx: Transaction, nodeUuid: string, cluster: string): Promise<void> {
  await change(tx, nodeUuid, ({ etcdClusters }) => ({ etcdClusters: [...new Set([...etcdClusters, cluster])] }));
}

/** The site's instance on the machine is in service now; nothing of what was before its registration counts any more. */
export async function recordInService(tx: Transaction, nodeUuid: string, seen: Seen | undefined): Promise<void> {
  await tx.update(siteNodes).set({ inServiceAt: sql`now()` }).where(eq(siteNodes.nodeUuid, nodeUuid));
  if (seen) await change(tx, nodeUuid, (_known, at) => ({ registrations: [{ ...seen, at }] }));
}

async function change(
  tx: Transaction,
  nodeUuid: string,
  to: (known: Membership, at: string) => Partial<Membership>,
): Promise<void> {
  const [known] = await tx
    .select()
    .from(clusterMemberships)
    .where(eq(clusterMemberships.nodeUuid, nodeUuid))
    .for('update');
  const [time] = rowsOf(await tx.execute(sql`select now() as now`)) as { readonly now: string }[];
  const before = known ?? { registrations: [], etcdClusters: [] };
  const { registrations, etcdClusters } = { ...before, ...to(before, new Date(time?.now ?? 0).toISOString()) };
  await tx
    .insert(clusterMemberships)
    .values({ nodeUuid, registrations, etcdClusters })
    .onConflictDoUpdate({ target: clusterMemberships.nodeUuid, set: { registrations, etcdClusters } });
}
