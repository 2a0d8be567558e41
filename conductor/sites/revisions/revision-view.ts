import type { ListedRevisionAnswer, RevisionAnswer } from '#conductor/api/sites.ts';
import type { SiteRevisionRow, SiteRevisionTagRow } from '#conductor/kernel/db/schema/site.ts';
import type { RevisionRole } from '#conductor/model/revision-roles.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';

/** What a revision's answer has beside its row. */
export interface RevisionSurroundings {
  readonly collections: readonly string[];
  readonly tags: readonly SiteRevisionTagRow[];
  readonly roles: ReadonlyMap<RevisionRole, number>;
  /** Of the list, `https://baton.example/api/v1.0/revisions`. */
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
