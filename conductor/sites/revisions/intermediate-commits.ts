import type { SiteTag } from '#conductor/model/revision-roles.ts';

export interface TaggedRevision {
  readonly id: number;
  readonly tags: readonly string[];
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
