import { randomUUID } from 'node:crypto';
import { and, eq, inArray, isNull, lt, or, sql } from 'drizzle-orm';
import { type Candidate, refusals, type Wish } from '#conductor/allocations/match.ts';
import { lockCandidates } from '#conductor/allocations/read-candidates.ts';
import type { ConductorContext } from '#conductor/context.ts';
import type { Transaction } from '#conductor/db/open.ts';
import { type AllocationRow, allocations } from '#conductor/db/schema/allocation.ts';
import { nodeHistory, nodeLeases, nodes } from '#conductor/db/schema/node.ts';
import { refusingDuplicates } from '#conductor/db/violated-constraint.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Nodes that the allocations of one demand are to have: all of them or none. */
export interface Claim {
  readonly wish: Wish;
  readonly pairs: readonly Grant[];
}

/**
 * Gives nodes to allocations in one transaction: the allocations are locked, as long as they are this conductor's under
 * the token that it knows; the nodes' leases are claimed as far as nobody else has them; the nodes are looked at once
 * more; then both sides are written. Locks are taken in the order allocations still without a node, leases, nodes; who
 * releases a node locks its lease, the node and an allocation that has one, so that the two never wait for each other.
 * @returns UUIDs of the allocations whose claim went through
 * @throws AppError `conflict` when an allocation's UUID is another node's `instance_uuid`; then nothing is written.
 */
export function claimNodes(
  context: Pick<ConductorContext, 'db' | 'config'>,
  claims: readonly Claim[],
): Promise<Set<string>> {
  return context.db.transaction(async (tx) => {
    const pairs = claims.flatMap((claim) => claim.pairs);
    const ours = await lockAllocations(
      tx,
      context.config.conductorName,
      pairs.map(({ allocation }) => allocation),
    );
    const free = await claimLeases(
      tx,
      pairs.map(({ node }) => node.uuid),
    );
    const current = await lockCandidates(tx, [...free]);
    const good = claims.filter(({ wish, pairs }) =>
      pairs.every(({ allocation, node }) => {
        const now = current.get(node.uuid);
        return ours.has(allocation.uuid) && now !== undefined && refusals(now, wish).length === 0;
      }),
    );
    const granted = good.flatMap((claim) => claim.pairs);
    if (granted.length > 0) await writeGrants(tx, context.config.conductorName, granted);
    return new Set(granted.map(({ allocation }) => allocation.uuid));
  });
}

/** Those that are still to be served by this conductor; a take-over or a deletion has come first otherwise. */
async function lockAllocations(
  tx: Transaction,
  conductor: string,
  wanted: readonly AllocationRow[],
): Promise<Set<string>> {
  const tokens = new Map(wanted.map((row) => [row.uuid, row.token]));
  const rows = await tx
    .select({ uuid: allocations.uuid, token: allocations.token })
    .from(allocations)
    .where(
      and(
        inArray(allocations.uuid, [...tokens.keys()]),
        eq(allocations.conductor, conductor),
        eq(allocations.state, 'allocating'),
      ),
    )
    .orderBy(allocations.uuid)
    .for('update');
  return new Set(rows.filter((row) => tokens.get(row.uuid) === row.token).map((row) => row.uuid));
}

/**
 * The leases, for as long as the transaction lasts: their rows stay locked, and a claim that comes meanwhile waits and
 * then sees what was written (as `refuseLocked`). An expired one is taken from its holder.
 */
async function claimLeases(tx: Transaction, nodeUuids: readonly string[]): Promise<Set<string>> {
  const rows = await lockLeases(tx, nodeUuids);
  const found = new Set(rows.map((row) => row.nodeUuid));
  const missing = nodeUuids.filter((uuid) => !found.has(uuid));
  // a node that nobody has ever worked on has no lease yet
  if (missing.length > 0 && (await insertLeases(tx, missing))) rows.push(...(await lockLeases(tx, missing)));
  const expired = rows.filter((row) => row.holder !== null).map((row) => row.nodeUuid);
  if (expired.length > 0) {
    await tx
      .update(nodeLeases)
      .set({ holder: null, token: sql`${nodeLeases.token} + 1` })
      .where(inArray(nodeLeases.nodeUuid, expired));
  }
  return new Set(rows.map((row) => row.nodeUuid));
}

function lockLeases(tx: Transaction, nodeUuids: readonly string[]) {
  return tx
    .select({ nodeUuid: nodeLeases.nodeUuid, holder: nodeLeases.holder })
    .from(nodeLeases)
    .where(
      and(
        inArray(nodeLeases.nodeUuid, [...nodeUuids]),
        or(isNull(nodeLeases.holder), lt(nodeLeases.expiresAt, sql`now()`)),
      ),
    )
    .orderBy(nodeLeases.nodeUuid)
    .for('update', { skipLocked: true });
}

/** `false` when all had one. In order, so that two who do the same never wait for each other. */
async function insertLeases(tx: Transaction, nodeUuids: readonly string[]): Promise<boolean> {
  const rows = await tx
    .select({ nodeUuid: nodes.uuid })
    .from(nodes)
    .leftJoin(nodeLeases, eq(nodeLeases.nodeUuid, nodes.uuid))
    .where(and(inArray(nodes.uuid, [...nodeUuids]), isNull(nodeLeases.nodeUuid)))
    .orderBy(nodes.uuid);
  if (rows.length === 0) return false;
  await tx
    .insert(nodeLeases)
    .values(rows.map(({ nodeUuid }) => ({ nodeUuid, holder: null, token: 0, expiresAt: sql`now()` })))
    .onConflictDoNothing();
  return true;
}

interface Grant {
  readonly allocation: AllocationRow;
  readonly node: Candidate;
}

/** @throws AppError `conflict` when an allocation's UUID is another node's `instance_uuid`. */
async function writeGrants(tx: Transaction, conductor: string, granted: readonly Grant[]): Promise<void> {
  const given = sql`jsonb_to_recordset(${JSON.stringify(
    granted.map(({ allocation, node }) => ({
      node_uuid: node.uuid,
      allocation_uuid: allocation.uuid,
      traits: allocation.traits,
    })),
  )}::text::jsonb) as given(node_uuid uuid, allocation_uuid uuid, traits jsonb)`;
  await refusingDuplicates(
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
  const rows = await tx
    .update(allocations)
    .set({
      state: 'active',
      nodeUuid: sql`given.node_uuid`,
      lastError: null,
      waitingFor: null,
      updatedAt: sql`now()`,
    })
    .from(given)
    .where(
      and(
        sql`${allocations.uuid} = given.allocation_uuid`,
        eq(allocations.conductor, conductor),
        eq(allocations.state, 'allocating'),
      ),
    )
    .returning({ uuid: allocations.uuid });
  if (rows.length !== granted.length) {
    throw new AppError('internal', `${granted.length} locked allocations were to be saved, ${rows.length} were`);
  }
  await tx.insert(nodeHistory).values(
    granted.map(({ allocation, node }) => ({
      uuid: randomUUID(),
      nodeUuid: node.uuid,
      severity: 'INFO' as const,
      eventType: 'allocation',
      event: `given to allocation ${allocation.name ?? allocation.uuid}`,
      conductor,
    })),
  );
}
