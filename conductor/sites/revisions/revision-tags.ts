import { and, eq, notInArray, sql } from 'drizzle-orm';
import type { ListedRevisionAnswer, RevisionAnswer } from '#conductor/api/sites.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { queryRows } from '#conductor/kernel/db/query/statement.ts';
import { type SiteRevisionRow, type SiteRevisionTagRow, siteRevisionTags } from '#conductor/kernel/db/schema/site.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import { isSiteTag, type RevisionRole, type SiteTag, siteTags } from '#conductor/model/site/revision-roles.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { getRevision, type TaggedRevision, tagRevision } from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** An operator's own tag. @throws AppError `not_found`; `conflict` for one of the site's. */
export async function setTag(
  db: Queryable,
  tag: {
    readonly revisionId: number;
    readonly tag: string;
    readonly data: JsonObject;
    readonly user: string | undefined;
  },
): Promise<void> {
  requireManualTag(tag.tag);
  await getRevision(db, tag.revisionId);
  await tagRevision(db, tag);
}

/** @throws AppError `not_found` for a tag that the revision has not; `conflict` for one of the site's. */
export async function removeTag(db: Queryable, revisionId: number, tag: string): Promise<void> {
  requireManualTag(tag);
  await getRevision(db, revisionId);
  const isIt = and(eq(siteRevisionTags.revisionId, revisionId), eq(siteRevisionTags.tag, tag));
  const gone = await db.delete(siteRevisionTags).where(isIt).returning();
  if (gone.length === 0) throw new AppError('not_found', `Revision ${revisionId} has no tag ${tag}.`);
}

/** All but the site's. @throws AppError `not_found`. */
export async function removeTags(db: Queryable, revisionId: number): Promise<void> {
  await getRevision(db, revisionId);
  const isOwn = notInArray(siteRevisionTags.tag, [...siteTags]);
  await db.delete(siteRevisionTags).where(and(eq(siteRevisionTags.revisionId, revisionId), isOwn));
}

function requireManualTag(tag: string): void {
  if (!isSiteTag(tag)) return;
  const by = tag === 'committed' ? 'a commit sets it' : 'site actions set it';
  throw new AppError('conflict', `The tag ${tag} says what a revision is to the site: ${by}, and nobody by hand.`);
}

const actionTags: readonly string[] = ['site-action-success', 'site-action-failure'] satisfies SiteTag[];

/**
 * Commits between the last site action and the revision that is to be used, which no site action has ever made real: an
 * action would bring in more than its operator sees in the last commit (seed 001; airship.md §5 has where Shipyard looks
 * at one commit only). Without any site action all earlier commits count. Pure.
 * @returns their numbers, ascending
 */
export function intermediateCommits(revisions: readonly TaggedRevision[], current: number): number[] {
  const last = Math.max(0, ...revisions.filter(isActedOn).map(({ id }) => id));
  return revisions
    .filter((revision) => revision.id > last && revision.id < current && revision.tags.includes('committed'))
    .map(({ id }) => id)
    .sort((a, b) => a - b);
}

function isActedOn({ tags }: TaggedRevision): boolean {
  return tags.some((tag) => actionTags.includes(tag));
}

/**
 * Nodes that a revision is known to be good for, in the data of its tag `site-action-success`: these `nodes`, else all
 * of its documents but those in `except`. A redeploy of one node says nothing of the others, nor does an action that
 * left nodes as they were although their documents differ.
 */
export interface Coverage {
  readonly nodes?: readonly string[];
  readonly except?: readonly string[];
}

/**
 * Adds up what successful actions of the same revision have covered together. Pure. @param before none yet when absent
 */
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

/** Fields of a revision's answer beside its row. */
export interface RevisionSurroundings {
  readonly collections: readonly string[];
  readonly tags: readonly SiteRevisionTagRow[];
  readonly roles: ReadonlyMap<RevisionRole, number>;
  /** Address of the list, `https://baton.example/api/v1.0/revisions`. */
  readonly url: string;
}

/** Deckhand's fields (`createdAt` is its own spelling), and behind them ours; without tags, whose form differs. Pure. */
function viewFields(row: SiteRevisionRow, { collections, roles, url }: RevisionSurroundings) {
  return {
    id: row.id,
    url: `${url}/${row.id}`,
    createdAt: apiTime(row.createdAt),
    buckets: collections,
    kind: row.kind,
    rolled_back_to: row.rolledBackTo,
    created_by: row.createdBy,
    roles: [...roles].filter(([, id]) => id === row.id).map(([role]) => role),
  };
}

/** In the list tags are names. */
export function viewListedRevision(row: SiteRevisionRow, surroundings: RevisionSurroundings): ListedRevisionAnswer {
  return { ...viewFields(row, surroundings), tags: surroundings.tags.map(({ tag }) => tag) };
}

/** In the revision itself they are a mapping to their data. */
export function viewRevision(row: SiteRevisionRow, surroundings: RevisionSurroundings): RevisionAnswer {
  return { ...viewFields(row, surroundings), tags: viewTags(surroundings.tags) };
}

export function viewTags(tags: readonly SiteRevisionTagRow[]): Record<string, unknown> {
  return Object.fromEntries(tags.map(({ tag, data }) => [tag, data]));
}
