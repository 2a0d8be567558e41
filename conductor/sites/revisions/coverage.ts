import { and, eq, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { siteRevisionTags } from '#conductor/kernel/db/schema/site.ts';
import { queryRows } from '#conductor/kernel/db/statement.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';

/**
 * Of which nodes a revision is known to be good, in the data of its tag `site-action-success`: of these `nodes`, else of
 * all of its documents but those in `except`. A redeploy of one node says nothing of the others, nor does an action that
 * left nodes as they were although their documents differ.
 */
export interface Coverage {
  readonly nodes?: readonly string[];
  readonly except?: readonly string[];
}

/** What successful actions of the same revision have covered together. Pure. @param before none yet when absent */
export function addCoverage(before: Coverage | undefined, added: Coverage): JsonObject {
  if (!before) return { ...added };
  const [one, other] = added.nodes ? [before, added] : [added, before];
  // `other` lists its nodes, or neither does
  if (one.nodes) return { nodes: [...new Set([...one.nodes, ...(other.nodes ?? [])])].sort() };
  const isCovered = (node: string): boolean =>
    other.nodes ? other.nodes.includes(node) : other.except?.includes(node) !== true;
  const except = (one.except ?? []).filter((node) => !isCovered(node));
  return except.length === 0 ? {} : { except };
}

/** `undefined`: no action has succeeded with the revision. */
export async function readCoverage(tx: Transaction, revisionId: number): Promise<Coverage | undefined> {
  const [row] = await tx
    .select({ data: siteRevisionTags.data })
    .from(siteRevisionTags)
    .where(and(eq(siteRevisionTags.revisionId, revisionId), eq(siteRevisionTags.tag, 'site-action-success')));
  return row?.data;
}

/** The newest revision that is known to be good of each of these nodes; of those with none nothing. */
export async function findGoodRevisions(db: Queryable, names: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await queryRows(
    db,
    sql`
      select name, max(tag.revision_id) from json_array_elements_text(${JSON.stringify(names)}::text::json) name
      join site_revision_tags tag on tag.tag = 'site-action-success' and case
        when tag.data ? 'nodes' then tag.data -> 'nodes' ? name else not coalesce(tag.data -> 'except' ? name, false) end
      group by name`,
  );
  return new Map(rows.map(([name, revision]) => [String(name), Number(revision)]));
}
