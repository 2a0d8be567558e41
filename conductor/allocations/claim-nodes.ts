import { and, eq, sql } from 'drizzle-orm';
import type { AllocationsContext } from '#conductor/allocations/context.ts';
import { type Candidate, listRefusals, type Requirements } from '#conductor/allocations/match.ts';
import { byUuid, lockCandidates } from '#conductor/allocations/read-candidates.ts';
import { isUnserved } from '#conductor/allocations/work-store.ts';
import { refusingDuplicates } from '#conductor/kernel/db/faults.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { allTogether } from '#conductor/kernel/db/query/batches.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { type AllocationRow, allocations } from '#conductor/kernel/db/schema/allocation.ts';
import { nodeLeases, nodes } from '#conductor/kernel/db/schema/node.ts';
import { isFree } from '#conductor/kernel/lease.ts';
import { notifyWebhooksOfAllocations } from '#conductor/kernel/outbox.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Nodes that the allocations of one demand are to have: all of them or none. */
export interface Claim {
  readonly requirements: Requirements;
  readonly pairs: readonly Grant[];
}

/**
 * Gives nodes to allocations in one transaction: the allocations are locked, as long as they are this conductor's under
 * the token that it knows; the nodes' leases are claimed as far as nobody else has them; the nodes are looked at once
 * more; then both sides are written. It waits for no lease and no node, so that it can't stand in a circle with those
 * who release a node: they lock its lease, the node, and an allocation that has one. Statements go together, because
 * their answers' way is most of what a claim costs.
 * @returns UUIDs of the allocations whose claim went through
 * @throws AppError `conflict` when an allocation's UUID is another node's `instance_uuid`; then nothing is written.
 */
export async function claimNodes(
  { db, config }: Pick<AllocationsContext, 'db' | 'config'>,
  claims: readonly Claim[],
): Promise<Set<string>> {
  const pairs = claims.flatMap((claim) => claim.pairs);
  const wanted = pairs.map(({ node }) => node.uuid);
  await insertLeases(
    db,
    pairs.filter(({ node }) => !node.hasLease).map(({ node }) => node.uuid),
  );
  return db.transaction(async (tx) => {
    // in this order: what a node is must be read under its lease, which a change of traits locks first
    const [allocated, leases, nodeRows] = await allTogether([
      lockAllocations(tx, config.conductorName, pairs),
      lockLeases(tx, wanted),
      lockCandidates(tx, wanted),
    ]);
    const current = byUuid(nodeRows);
    const tokens = new Map(allocated.map(({ uuid, token }) => [uuid, token]));
    const free = new Set(leases.map(({ nodeUuid }) => nodeUuid));
    const good = claims.filter((claim) =>
      claim.pairs.every(({ allocation, node }) => {
        const now = current.get(node.uuid);
        const isOurs = tokens.get(allocation.uuid) === allocation.token;
        return isOurs && free.has(node.uuid) && now !== undefined && listRefusals(now, claim.requirements).length === 0;
      }),
    );
    const granted = good.flatMap((claim) => claim.pairs);
    const expired = leases.filter(({ holder }) => holder !== null).map(({ nodeUuid }) => nodeUuid);
    if (granted.length > 0) await writeGrants(tx, { conductor: config.conductorName, granted, expired });
    return new Set(granted.map(({ allocation }) => allocation.uuid));
  });
}

/**
 * Locks the allocations that are still to be served by this conductor; a take-over or a deletion has come first
 * otherwise.
 */
function lockAllocations(tx: Transaction, conductor: string, pairs: readonly Grant[]) {
  return tx
    .select({ uuid: allocations.uuid, token: allocations.token })
    .from(allocations)
    .where(
      and(
        isAmong(
          allocations.uuid,
          pairs.map(({ allocation }) => allocation.uuid),
        ),
        eq(allocations.conductor, conductor),
        isUnserved,
      ),
    )
    .orderBy(allocations.uuid)
    .for('update');
}

/**
 * Locks the leases that nobody holds or whose time is over, for as long as the transaction lasts: a claim that comes
 * meanwhile waits, and then sees what was written (as `requireUnlocked`).
 */
function lockLeases(tx: Transaction, nodeUuids: readonly string[]) {
  return tx
    .select({ nodeUuid: nodeLeases.nodeUuid, holder: nodeLeases.holder })
    .from(nodeLeases)
    .where(and(isAmong(nodeLeases.nodeUuid, nodeUuids), isFree(nodeLeases)))
    .for('update', { skipLocked: true });
}

/**
 * Inserts leases for nodes that nobody has ever worked on. In order, so that two who do the same never wait for each other.
 */
async function insertLeases(db: Queryable, nodeUuids: readonly string[]): Promise<void> {
  if (nodeUuids.length === 0) return;
  await db.execute(sql`
    insert into node_leases (node_uuid, holder, token, expires_at)
    select uuid, null, 0, now() from nodes where ${isAmong(nodes.uuid, nodeUuids)} order by uuid
    on conflict do nothing`);
}

interface Grant {
  readonly allocation: AllocationRow;
  readonly node: Candidate;
}

/** @throws AppError `conflict` when an allocation's UUID is another node's `instance_uuid`. */
async function writeGrants(
  tx: Transaction,
  work: { readonly conductor: string; readonly granted: readonly Grant[]; readonly expired: readonly string[] },
): Promise<void> {
  const { conductor, granted, expired } = work;
  const given = sql`jsonb_to_recordset(${JSON.stringify(
    granted.map(({ allocation, node }) => ({
      node_uuid: node.uuid,
      allocation_uuid: allocation.uuid,
      traits: allocation.traits,
      title: allocation.name ?? allocation.uuid,
    })),
  )}::text::jsonb) as given(node_uuid uuid, allocation_uuid uuid, traits jsonb, title text)`;
  const toNodes = refusingDuplicates(
    () =>
      tx
        .update(nodes)
        .set({
          allocationUuid: sql`given.allocation_uuid`,
          instanceUuid: sql`given.allocation_uuid`,
          instanceInfo: sql`jsonb_set(${nodes.instanceInfo}, '{traits}', given.traits)`,
          updatedAt: sql`now()`,
        })
        .from(given)
        .where(sql`${nodes.uuid} = given.node_uuid`),
    () => 'the UUID of the allocation has become the instance_uuid of a node that is not its own',
  );
  const toAllocations = tx
    .update(allocations)
    .set({
      state: 'active',
      nodeUuid: sql`given.node_uuid`,
      lastError: null,
      waitingFor: null,
      updatedAt: sql`now()`,
    })
    .from(given)
    .where(and(sql`${allocations.uuid} = given.allocation_uuid`, eq(allocations.conductor, conductor), isUnserved))
    .returning({ uuid: allocations.uuid });
  const toHistory = tx.execute(sql`
    insert into node_history (uuid, node_uuid, severity, event_type, event, conductor)
    select gen_random_uuid(), node_uuid, 'INFO', 'allocation', 'given to allocation ' || title, ${conductor}::text from ${given}`);
  // a holder whose time is over must not come back to a node that has changed under it
  const fromHolders =
    expired.length === 0
      ? []
      : [
          tx
            .update(nodeLeases)
            .set({ holder: null, token: sql`${nodeLeases.token} + 1` })
            .where(isAmong(nodeLeases.nodeUuid, expired)),
        ];
  const [, rows] = await allTogether([toNodes, toAllocations, toHistory, ...fromHolders]);
  if (rows.length !== granted.length) {
    throw new AppError('internal', `${granted.length} locked allocations were to be saved, ${rows.length} were`);
  }
  await notifyWebhooksOfAllocations(
    tx,
    rows.map(({ uuid }) => uuid),
  );
}
