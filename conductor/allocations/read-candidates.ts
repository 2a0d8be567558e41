import { and, eq, inArray, isNotNull, isNull, notInArray, type SQL, sql } from 'drizzle-orm';
import type { Candidate, Requirements } from '#conductor/allocations/match.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { isAmong } from '#conductor/kernel/db/query/statement.ts';
import { nodeLeases, nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeTraits } from '#conductor/kernel/db/schema/node-parts.ts';
import { isFree } from '#conductor/kernel/lease.ts';
import { rackOf } from '#conductor/model/node-words.ts';
import { visibleNodes } from '#conductor/nodes/node-ownership.ts';

const columns = {
  uuid: nodes.uuid,
  name: nodes.name,
  resourceClass: nodes.resourceClass,
  provisionState: nodes.provisionState,
  maintenance: nodes.maintenance,
  retired: nodes.retired,
  powerState: nodes.powerState,
  health: nodes.health,
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

const leaseColumns = {
  isLocked: sql<boolean>`not ${isFree(nodeLeases)}`,
  hasLease: sql<boolean>`${nodeLeases.nodeUuid} is not null`,
};

/** Few of many: what is locked is looked up once, not beside each node. */
const locked = sql`${nodes.uuid} in (select ${nodeLeases.nodeUuid} from ${nodeLeases} where not ${isFree(nodeLeases)})`;

/**
 * Reads nodes that fit, in random order, so that conductors do not all try the same; with a limit, those named so among the
 * first. Locked ones only when the others are fewer than needed. The conditions are those of `listRefusals`, which has the
 * last word.
 */
export async function readFitting(
  db: Queryable,
  requirements: Requirements,
  options: { readonly names: readonly string[]; readonly needed: number; readonly limit: number | undefined },
): Promise<Candidate[]> {
  const { names, needed, limit } = options;
  const isNamesake = names.length === 0 ? [] : [sql`${isAmong(nodes.name, names)} desc nulls last`];
  const read = async (condition: SQL | undefined, without: readonly string[] = []): Promise<Candidate[]> => {
    // chosen by few columns: the rest is read of those that are chosen
    const chosen = db
      .select({ uuid: nodes.uuid })
      .from(nodes)
      .where(and(fits(requirements), condition, notInArray(nodes.uuid, [...without])))
      .orderBy(...isNamesake, sql`random()`)
      .$dynamic();
    return readWhere(db, inArray(nodes.uuid, limit === undefined ? chosen : chosen.limit(limit)), sql`random()`);
  };
  const free = await read(sql`not ${locked}`);
  if (free.length >= needed) return free;
  // all others, not those that are locked: what was locked a moment ago may be free by now, and would be in neither
  const found = free.map(({ uuid }) => uuid);
  return [...free, ...(await read(undefined, found))];
}

/** Makes the condition of `listRefusals` in SQL, as far as the database can know. */
function fits(requirements: Requirements): SQL | undefined {
  const { owner } = requirements;
  const traits = [...new Set(requirements.traits)];
  return and(
    eq(nodes.resourceClass, requirements.resourceClass),
    eq(nodes.provisionState, 'available'),
    eq(nodes.maintenance, false),
    eq(nodes.retired, false),
    sql`${nodes.health} is distinct from 'Critical'`,
    isNull(nodes.instanceUuid),
    isNotNull(nodes.powerState),
    requirements.candidateNodes.length === 0 ? undefined : isAmong(nodes.uuid, requirements.candidateNodes),
    visibleNodes(owner ?? undefined),
    traits.length === 0
      ? undefined
      : sql`${nodes.uuid} in (select ${nodeTraits.nodeUuid} from ${nodeTraits} where ${inArray(nodeTraits.trait, traits)} group by 1 having count(*) = ${traits.length})`,
  );
}

/**
 * Reads the nodes by which a shortage is explained: the candidates, or those of the resource class. An explanation that an
 * owner reads counts no nodes of other projects.
 */
export function readNamed(db: Queryable, requirements: Requirements): Promise<Candidate[]> {
  const { candidateNodes, owner, resourceClass } = requirements;
  return readWhere(
    db,
    and(
      candidateNodes.length === 0 ? eq(nodes.resourceClass, resourceClass) : isAmong(nodes.uuid, candidateNodes),
      visibleNodes(owner ?? undefined),
    ),
  );
}

/** Reads all nodes, or those that belong or are leased to the project, in order of creation. */
export function readAll(db: Queryable, project: string | undefined): Promise<Candidate[]> {
  return readWhere(db, visibleNodes(project));
}

async function readWhere(
  db: Queryable,
  condition: SQL | undefined,
  order: SQL | typeof nodes.id = nodes.id,
): Promise<Candidate[]> {
  const rows = await db
    .select({ ...columns, ...leaseColumns })
    .from(nodes)
    .leftJoin(nodeLeases, eq(nodeLeases.nodeUuid, nodes.uuid))
    .where(condition)
    .orderBy(order);
  return rows.map(toCandidate);
}

/**
 * Locks those of these nodes that nobody changes, as they are now, until the transaction ends: a query, sent when it is
 * waited for; `byUuid` reads its rows.
 */
export function lockCandidates(tx: Transaction, nodeUuids: readonly string[]) {
  return tx
    .select({ ...columns, isLocked: sql<boolean>`false`, hasLease: sql<boolean>`true` })
    .from(nodes)
    .where(isAmong(nodes.uuid, nodeUuids))
    .for('update', { of: nodes, skipLocked: true });
}

type CandidateRow = Omit<Candidate, 'rack'> & Parameters<typeof rackOf>[0];

export function byUuid(rows: readonly CandidateRow[]): Map<string, Candidate> {
  return new Map(rows.map((row) => [row.uuid, toCandidate(row)]));
}

function toCandidate({ properties, extra, ...row }: CandidateRow): Candidate {
  return { ...row, rack: rackOf({ properties, extra }) };
}
