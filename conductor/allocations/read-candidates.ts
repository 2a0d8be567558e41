import { and, eq, inArray, isNotNull, isNull, type SQL, sql } from 'drizzle-orm';
import type { Candidate, Wish } from '#conductor/allocations/match.ts';
import { visibleNodes } from '#conductor/auth/node-ownership.ts';
import type { Queryable, Transaction } from '#conductor/db/open.ts';
import { nodeLeases, nodes } from '#conductor/db/schema/node.ts';
import { nodeTraits } from '#conductor/db/schema/node-trait.ts';
import { rackOf } from '#conductor/nodes/node-rack.ts';

const columns = {
  uuid: nodes.uuid,
  name: nodes.name,
  resourceClass: nodes.resourceClass,
  provisionState: nodes.provisionState,
  maintenance: nodes.maintenance,
  retired: nodes.retired,
  powerState: nodes.powerState,
  instanceUuid: nodes.instanceUuid,
  owner: nodes.owner,
  lessee: nodes.lessee,
  // objects, so that a row stays small and `rackOf` says which key counts
  properties: sql`jsonb_build_object('rack', ${nodes.properties} -> 'rack')`.mapWith(nodes.properties),
  extra: sql`jsonb_build_object('rack', ${nodes.extra} -> 'rack')`.mapWith(nodes.extra),
  traits: sql<
    string[]
  >`array(select ${nodeTraits.trait} from ${nodeTraits} where ${nodeTraits.nodeUuid} = ${nodes.uuid} order by 1)`,
};

const isLocked = sql<boolean>`(${nodeLeases.holder} is not null and ${nodeLeases.expiresAt} >= now())`;

const leaseColumns = {
  isLocked: sql<boolean>`coalesce(${isLocked}, false)`,
  hasLease: sql<boolean>`${nodeLeases.nodeUuid} is not null`,
};

const everything = 1_000_000;

/**
 * Nodes that fit, unlocked ones and those named so first, the rest in random order, so that conductors do not all try
 * the same. The conditions are those of `refusals`, which has the last word.
 */
export async function readFitting(
  db: Queryable,
  wish: Wish,
  options: { readonly names: readonly string[]; readonly limit: number | undefined },
): Promise<Candidate[]> {
  const namesake =
    options.names.length === 0 ? sql`1` : sql`(case when ${inArray(nodes.name, [...options.names])} then 0 else 1 end)`;
  const rows = await db
    .select({ ...columns, ...leaseColumns })
    .from(nodes)
    .leftJoin(nodeLeases, eq(nodeLeases.nodeUuid, nodes.uuid))
    .where(fits(wish))
    .orderBy(sql`coalesce(${isLocked}, false)`, namesake, sql`random()`)
    .limit(options.limit ?? everything);
  return rows.map(toCandidate);
}

/** `refusals` as far as the database can tell. */
function fits(wish: Wish): SQL | undefined {
  const { owner } = wish;
  const traits = [...new Set(wish.traits)];
  return and(
    eq(nodes.resourceClass, wish.resourceClass),
    eq(nodes.provisionState, 'available'),
    eq(nodes.maintenance, false),
    eq(nodes.retired, false),
    isNull(nodes.instanceUuid),
    isNotNull(nodes.powerState),
    wish.candidateNodes.length === 0 ? undefined : inArray(nodes.uuid, [...wish.candidateNodes]),
    visibleNodes(owner ?? undefined),
    traits.length === 0
      ? undefined
      : sql`(select count(*) from ${nodeTraits} where ${nodeTraits.nodeUuid} = ${nodes.uuid} and ${inArray(nodeTraits.trait, traits)}) = ${traits.length}`,
  );
}

/** Nodes that a shortage is explained with: the candidates, or those of the resource class. */
export function readNamed(db: Queryable, wish: Wish): Promise<Candidate[]> {
  return readWhere(
    db,
    wish.candidateNodes.length === 0
      ? eq(nodes.resourceClass, wish.resourceClass)
      : inArray(nodes.uuid, [...wish.candidateNodes]),
  );
}

/** All nodes, or those that belong or are leased to the project, in order of creation. */
export function readAll(db: Queryable, project: string | undefined): Promise<Candidate[]> {
  return readWhere(db, visibleNodes(project));
}

async function readWhere(db: Queryable, condition: SQL | undefined): Promise<Candidate[]> {
  const rows = await db
    .select({ ...columns, ...leaseColumns })
    .from(nodes)
    .leftJoin(nodeLeases, eq(nodeLeases.nodeUuid, nodes.uuid))
    .where(condition)
    .orderBy(nodes.id);
  return rows.map(toCandidate);
}

/** Those of these nodes that nobody changes, as they are now and locked until the transaction ends. */
export async function lockCandidates(tx: Transaction, nodeUuids: readonly string[]): Promise<Map<string, Candidate>> {
  const rows = await tx
    .select({ ...columns, isLocked: sql<boolean>`false`, hasLease: sql<boolean>`true` })
    .from(nodes)
    .where(inArray(nodes.uuid, [...nodeUuids]))
    .for('update', { of: nodes, skipLocked: true });
  return new Map(rows.map((row) => [row.uuid, toCandidate(row)]));
}

function toCandidate({ properties, extra, ...row }: Omit<Candidate, 'rack'> & Parameters<typeof rackOf>[0]): Candidate {
  return { ...row, rack: rackOf({ properties, extra }) };
}
