import { type SQL, sql } from 'drizzle-orm';
import { z } from 'zod';
import { type FleetEvents, FleetNode } from '#conductor/api/events.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { rowsOf } from '#conductor/kernel/db/query/statement.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeTraits } from '#conductor/kernel/db/schema/node-parts.ts';
import { nodeTpms } from '#conductor/kernel/db/schema/tpm.ts';
import { type FleetNodeField, fleetNodeFields } from '#conductor/model/fleet-node.ts';
import { imageNamePattern } from '#conductor/model/node-words.ts';
import { attestationOfNode } from '#conductor/nodes/tpm/attestation-summary.ts';

/** Subject of an event in the stream, as it is now; applying it twice does no harm. */
export interface Subject {
  readonly kind: 'node' | 'flow' | 'action';
  readonly uuid: string;
  /** JSON; `undefined` = there is none any more. */
  readonly body: string | undefined;
  readonly owner: string | null;
  readonly lessee: string | null;
}

/** All nodes as a read has found them. */
export interface KnownNodes {
  readonly subjects: ReadonlyMap<string, Subject>;
  /** The oldest transaction that this read may not have seen. */
  readonly horizon: string;
  /** When all rows were last read, in ms of this process. */
  readonly readAllAt: number;
}

/** Composes the `data` of an event of this kind. */
export function dataOf<Kind extends keyof FleetEvents>(_kind: Kind, data: FleetEvents[Kind]): string {
  return JSON.stringify(data);
}

const NodeState = FleetNode.extend({ lessee: z.string().nullable() });
const Row = z.object({
  horizon: z.string(),
  count: z.number(),
  is_known: z.boolean(),
  node: NodeState.nullable(),
});

/** The rack as `rackOf` has it. */
const rackColumn = sql.join(
  [nodes.properties, nodes.extra].map(
    (column) =>
      sql`case when jsonb_typeof(${column} -> 'rack') in ('string', 'number') then nullif(${column} ->> 'rack', '') end`,
  ),
  sql`, `,
);
/** The unit as `rackUnitOf` has it. */
const unitColumn = sql.join(
  [nodes.properties, nodes.extra].map(
    (column) => sql`case when ${column} ->> 'rack_unit' ~ '^[1-9][0-9]?$' then (${column} ->> 'rack_unit')::int end`,
  ),
  sql`, `,
);
/** The image as `imageNameOf` has it: its address may hold secrets. */
const imageColumn = sql`case when jsonb_typeof(${nodes.instanceInfo} -> 'image_source') = 'string' then substring(${nodes.instanceInfo} ->> 'image_source' from ${imageNamePattern.source}) end`;
const traitsColumn = sql`array(select trait from ${nodeTraits} where ${nodeTraits.nodeUuid} = ${nodes.uuid} order by trait)`;

/** Fields that are no column of `nodes` by the same name. */
const computed: Partial<Record<FleetNodeField, SQL>> = {
  rack: sql`coalesce(${rackColumn})`,
  rack_unit: sql`coalesce(${unitColumn})`,
  image: imageColumn,
  traits: traitsColumn,
  attestation: attestationOfNode,
};
const columns = sql.join(
  fleetNodeFields.map((field) => sql`${computed[field] ?? sql.identifier(field)} as ${sql.identifier(field)}`),
  sql`, `,
);

/** Condition that the node's row, or that of its TPM, was written by one of the youngest transactions. */
function isWritten(since: SQL): SQL {
  return sql`(age(${nodes}.xmin) <= ${since} or ${nodes.uuid} in (
    select ${nodeTpms.nodeUuid} from ${nodeTpms} where age(${nodeTpms}.xmin) <= ${since}))`;
}

/** Whatever a comparison by transactions might overlook is found then. */
const readAllEveryMs = 60_000;

/**
 * Reads all nodes, of which only those are fetched whose rows, or whose TPMs', have been written since the last read:
 * PostgreSQL keeps in `xmin` which transaction wrote a row. A row that has gone shows in their number, and all are read again.
 */
export async function readNodes(db: Queryable, known: KnownNodes | undefined): Promise<KnownNodes> {
  const isRecent = known && performance.now() - known.readAllAt < readAllEveryMs;
  const changed = isRecent ? await readSince(db, known) : undefined;
  return changed?.isWhole ? changed : readSince(db, undefined);
}

/** Reads the nodes that have changed since; `isWhole`: no others have changed. */
async function readSince(
  db: Queryable,
  known: KnownNodes | undefined,
): Promise<KnownNodes & { readonly isWhole: boolean }> {
  const since = known ? sql`age(${known.horizon}::text::xid)` : sql`null::int`;
  // one statement, one snapshot
  const rows = z.array(Row).parse(
    rowsOf(
      await db.execute(sql`
        with now as (
          select pg_snapshot_xmin(pg_current_snapshot())::xid::text as horizon, (select count(*)::int from ${nodes}) as count,
            coalesce(${since} >= 0, true) as is_known
        )
        select now.*, case when changed.uuid is null then null else to_jsonb(changed) end as node
        from now left join (
          select ${columns}, lessee
          from ${nodes} where ${known ? isWritten(since) : sql`true`}
        ) changed on true`),
    ),
  );
  const { horizon = '0', count = 0, is_known: isKnown = false } = rows[0] ?? {};
  const subjects = new Map(known?.subjects);
  for (const { node } of rows) {
    if (!node) continue;
    const { lessee, ...state } = node;
    const body = dataOf('node', state);
    subjects.set(node.uuid, { kind: 'node', uuid: node.uuid, body, owner: node.owner, lessee });
  }
  const isWhole = isKnown && subjects.size === count;
  return { subjects, horizon, readAllAt: known?.readAllAt ?? performance.now(), isWhole };
}
