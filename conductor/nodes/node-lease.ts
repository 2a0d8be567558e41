import { and, eq, gt, type Placeholder, type SQL, type SQLChunk, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type RawRow, statement, type Value } from '#conductor/kernel/db/query/statement.ts';
import { type NodeRow, nodeLeases, nodes } from '#conductor/kernel/db/schema/node.ts';
import { type Claim, type Held, type HeldValues, isFree, leasesOn } from '#conductor/kernel/lease.ts';
import { nodeReader } from '#conductor/nodes/node-store.ts';

/** The right to act on one node for a while (`reservation` in the API). */
export interface Lease extends Held {
  readonly nodeUuid: string;
  /** The holder whose lease had run out: it died, or was away for too long. */
  readonly takenFrom?: string;
  /** The database's time when it was claimed; milliseconds since 1970. */
  readonly claimedAtMs?: number;
}

/** Makes the condition, on a row of `nodes`, that conductors of this group (in small letters) work on it. */
export const ofGroup = (group: string | Placeholder) => sql`lower(${nodes.conductorGroup}) = ${group}`;

/**
 * Makes the condition, on a row of `nodes`, that conductors of this group that know these hardware types work on it
 * (`worksOn`, in SQL).
 */
export const attendedBy = ({ group, drivers }: { readonly group: string; readonly drivers: readonly string[] }) =>
  isAttended(group, sql.param([...drivers]));

const isAttended = (group: string | Placeholder, drivers: SQLChunk): SQL =>
  sql`(${ofGroup(group)} and ${nodes.driver} = any(${drivers}::text[]))`;

const leases = leasesOn<Lease>(nodeLeases, {
  kind: 'node',
  logKey: 'node',
  key: nodeLeases.nodeUuid,
  keyOf: ({ nodeUuid }) => nodeUuid,
});
export const {
  isHeldBy,
  values: leaseValues,
  renew: renewLease,
  keep: keepLease,
  release: releaseLease,
  hold: holdLease,
} = leases;
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
  const { holder, leaseMs, attends } = options;
  const seconds = leaseMs / 1000;
  const [row] = await (attends
    ? claimAttended(db, { nodeUuid, holder, seconds, group: attends.group, drivers: [...attends.drivers] })
    : claimAny(db, { nodeUuid, holder, seconds }));
  if (!row) return undefined;
  const { takenFrom, ...claim } = row;
  const lease = { nodeUuid, holder, ...claim };
  return takenFrom === null ? lease : { ...lease, takenFrom };
}

interface ClaimValues {
  readonly nodeUuid: string;
  readonly holder: string;
  readonly seconds: number;
}
interface AttendedClaim extends ClaimValues {
  readonly group: string;
  readonly drivers: string[];
}

const claim = (value: Value<ClaimValues>, where: SQL): SQL => sql`
  insert into node_leases (node_uuid, holder, token, expires_at)
  select uuid, ${value('holder')}::text, 1, now() + make_interval(secs => ${value('seconds')})
  from nodes where uuid = ${value('nodeUuid')} ${where}
  on conflict (node_uuid) do update set holder = excluded.holder, token = node_leases.token + 1, expires_at = excluded.expires_at
  where ${isFree(nodeLeases)}
  returning token, extract(epoch from now()) * 1000,
    -- as it was before this statement
    (select holder from node_leases where node_uuid = ${value('nodeUuid')})`;
const readClaim = ([token, claimedAtMs, takenFrom]: RawRow) => ({
  token: Number(token),
  claimedAtMs: Number(claimedAtMs),
  takenFrom: takenFrom as string | null,
});
const claimAny = statement<ClaimValues, ReturnType<typeof readClaim>>((value) => claim(value, sql``), readClaim);
const claimAttended = statement<AttendedClaim, ReturnType<typeof readClaim>>(
  (value) => claim(value, sql`and ${isAttended(value('group'), value('drivers'))}`),
  readClaim,
);

/**
 * Claims the node and releases it in one statement: the row stays locked until the transaction ends. `false` when
 * somebody else holds it, or the node is gone.
 */
export async function touchLease(tx: Transaction, nodeUuid: string): Promise<boolean> {
  return (await touch(tx, { nodeUuid })).length > 0;
}

/**
 * The same, also while a conductor holds it: that one learns of it within a part of the lease's time and stops what it waits for; until then
 * nothing of what it does is recorded.
 */
export async function seizeLease(tx: Transaction, nodeUuid: string): Promise<void> {
  await seize(tx, { nodeUuid });
}

const release = (value: Value<{ nodeUuid: string }>, where: SQL): SQL => sql`
  insert into node_leases (node_uuid, holder, token, expires_at)
  select uuid, null, 1, now() from nodes where uuid = ${value('nodeUuid')}
  on conflict (node_uuid) do update set holder = null, token = node_leases.token + 1, expires_at = now() ${where}
  returning token`;
const touch = statement<{ nodeUuid: string }>((value) => release(value, sql`where ${isFree(nodeLeases)}`));
const seize = statement<{ nodeUuid: string }>((value) => release(value, sql``));

/** Holds the node as `holdLease` does, and answers it as it is. @throws AppError `lease_lost` */
export async function holdNode(tx: Transaction, lease: Lease): Promise<NodeRow> {
  const [node] = await heldNode(tx, leases.values(lease));
  return node ?? leases.lost(lease);
}

const heldNode = statement<HeldValues, NodeRow>(
  (value) => sql`
    select ${sql.raw(nodeReader.selected)} from node_leases join nodes on nodes.uuid = node_leases.node_uuid
    where ${leases.isHeldBy(value)} for update of node_leases`,
  (raw) => nodeReader.read(raw),
);

/** Names the holder of an unexpired lease on the node, as the API shows it. */
export async function leaseHolder(db: Queryable, nodeUuid: string): Promise<string | undefined> {
  const [row] = await db
    .select({ holder: nodeLeases.holder })
    .from(nodeLeases)
    .where(and(eq(nodeLeases.nodeUuid, nodeUuid), gt(nodeLeases.expiresAt, sql`now()`)));
  return row?.holder ?? undefined;
}
