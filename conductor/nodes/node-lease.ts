import { and, eq, gt, inArray, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/rows-of.ts';
import { nodeLeases, nodes } from '#conductor/kernel/db/schema/node.ts';
import { type Claim, expiry, type Held, isFree, leasesOn } from '#conductor/kernel/lease.ts';

/** The right to act on one node for a while (`reservation` in the API). */
export interface Lease extends Held {
  readonly nodeUuid: string;
  /** Whose lease had run out: somebody died, or was away for too long. */
  readonly takenFrom?: string;
  /** The database's time when it was claimed; milliseconds since 1970. */
  readonly claimedAtMs?: number;
}

/** On a row of `nodes`: conductors of this group (in small letters) work on it. */
export const ofGroup = (group: string) => sql`lower(${nodes.conductorGroup}) = ${group}`;

/** On a row of `nodes`: conductors of this group that know these hardware types work on it (`worksOn`, in SQL). */
export const attendedBy = ({ group, drivers }: { readonly group: string; readonly drivers: readonly string[] }) =>
  and(ofGroup(group), inArray(nodes.driver, [...drivers]));

const leases = leasesOn<Lease>(nodeLeases, {
  kind: 'node',
  logKey: 'node',
  key: nodeLeases.nodeUuid,
  keyOf: ({ nodeUuid }) => nodeUuid,
});
export const { isHeld, renew: renewLease, keep: keepLease, release: releaseLease, hold: holdLease } = leases;
export const { releaseStale: releaseStaleLeases } = leases;

/**
 * Claims the node, or answers `undefined` when somebody else holds it, or when it is not one that `attendedBy` the
 * claimer.
 */
export async function claimLease(
  db: Queryable,
  nodeUuid: string,
  options: Claim & {
    /** The group in small letters. */
    readonly attends?: Parameters<typeof attendedBy>[0];
  },
): Promise<Lease | undefined> {
  const inserted = { nodeUuid, holder: options.holder, token: 1, expiresAt: expiry(options.leaseMs) };
  const insert = db.insert(nodeLeases);
  const { attends } = options;
  const [row] = await (attends === undefined
    ? insert.values(inserted)
    : insert.select(sql`
          select ${nodeUuid}::uuid, ${options.holder}::text, 1::bigint, ${inserted.expiresAt} from ${nodes}
          where ${eq(nodes.uuid, nodeUuid)} and ${attendedBy(attends)}`)
  )
    .onConflictDoUpdate({
      target: nodeLeases.nodeUuid,
      set: leases.claimed(options),
      setWhere: isFree(nodeLeases),
    })
    .returning({
      token: nodeLeases.token,
      claimedAtMs: sql<number>`(extract(epoch from now()) * 1000)::float8`,
      // as it was before this statement
      before: sql<string | null>`(select holder from node_leases where node_uuid = ${nodeUuid})`,
    });
  if (!row) return undefined;
  const lease = { nodeUuid, holder: options.holder, token: row.token, claimedAtMs: row.claimedAtMs };
  return row.before === null ? lease : { ...lease, takenFrom: row.before };
}

/**
 * Claims the node and releases it in one statement: the row stays locked until the transaction ends. `false` when
 * somebody else holds it, or the node is gone.
 */
export async function touchLease(tx: Transaction, nodeUuid: string): Promise<boolean> {
  const answer = await tx.execute(sql`
    insert into node_leases (node_uuid, holder, token, expires_at)
    select uuid, null, 1, now() from nodes where uuid = ${nodeUuid}
    on conflict (node_uuid) do update set holder = null, token = node_leases.token + 1, expires_at = now()
    where ${isFree(nodeLeases)}
    returning token`);
  return (rowsOf(answer) as unknown[]).length > 0;
}

/** Who holds an unexpired lease on the node, as the API shows it. */
export async function leaseHolder(db: Queryable, nodeUuid: string): Promise<string | undefined> {
  const [row] = await db
    .select({ holder: nodeLeases.holder })
    .from(nodeLeases)
    .where(and(eq(nodeLeases.nodeUuid, nodeUuid), gt(nodeLeases.expiresAt, sql`now()`)));
  return row?.holder ?? undefined;
}
