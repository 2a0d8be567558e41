import { and, eq, type SQL, sql } from 'drizzle-orm';
import type { Attestation } from '#conductor/api/attestation.ts';
import type { Answer } from '#conductor/api/values.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';
import { nodeTpms } from '#conductor/kernel/db/schema/tpm.ts';
import { type PageRequest, pageOf } from '#conductor/kernel/page-of.ts';

/** Condition that a person has accepted the node's TPM after that time. */
const acceptedAfter = (at: SQL | typeof nodeTpms.seenAt | typeof nodeTpms.otherAt): SQL =>
  sql`(${nodeTpms.acceptedBy} is not null and ${nodeTpms.acceptedAt} > ${at})`;

const summary = sql<Answer<typeof Attestation>>`jsonb_build_object(
  'verdict', ${nodeTpms.verdict}, 'reasons', ${nodeTpms.reasons}, 'accepted', ${acceptedAfter(nodeTpms.seenAt)},
  'another', ${nodeTpms.otherAt} is not null and not ${acceptedAfter(nodeTpms.otherAt)})`;

/** Selects what a row of `nodes` has proved, as JSON; null = no boot was attested. */
export const attestationOfNode = sql`(select ${summary} from ${nodeTpms} where ${nodeTpms.nodeUuid} = ${nodes.uuid})`;

/** One page of the nodes with an attested boot, in the order of their creation. */
export async function listAttestations(
  db: Queryable,
  { owner }: { readonly owner: string | undefined },
  { limit, marker }: Pick<PageRequest, 'limit' | 'marker'>,
) {
  const { order, after } = pageOf({
    table: sql`${nodes}`,
    uuid: nodes.uuid,
    id: nodes.id,
    sortBy: undefined,
    descending: false,
    marker,
  });
  return db
    .select({ uuid: nodes.uuid, name: nodes.name, ekPublic: nodeTpms.ekPublic, seenAt: nodeTpms.seenAt, summary })
    .from(nodeTpms)
    .innerJoin(nodes, eq(nodes.uuid, nodeTpms.nodeUuid))
    .where(and(owner === undefined ? undefined : eq(nodes.owner, owner), after))
    .orderBy(...order)
    .limit(limit);
}
