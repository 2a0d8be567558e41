/**
 * Roles that a revision can have for a site (Shipyard; seed 001 "Shipyard Tag Releases"), in the order in which two are
 * compared.
 */
export const revisionRoles = ['successful-site-action', 'last-site-action', 'committed', 'buffer'] as const;
export type RevisionRole = (typeof revisionRoles)[number];

/** Set only by Baton: roles follow from them. */
export const siteTags = ['committed', 'site-action-success', 'site-action-failure'] as const;
export type SiteTag = (typeof siteTags)[number];

export function isSiteTag(tag: string): tag is SiteTag {
  return (siteTags as readonly string[]).includes(tag);
}

/** Reads a role as the seed writes it, or with underscores as Shipyard's API does; `undefined` for anything else. */
export function parseRole(text: string): RevisionRole | undefined {
  const name = text.replaceAll('_', '-');
  return revisionRoles.find((role) => role === name);
}

/** Which of a site's revisions: by its role now, or by its number; 0 = nothing at all. */
export type SiteVersion = RevisionRole | number;

/** Parses a role as `parseRole` takes it, or a number; `undefined` for anything else. */
export function parseVersion(text: string): SiteVersion | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) : parseRole(text);
}

/** Says that a site has no such revision. Pure. */
export function describeNoRevision(version: string | number): string {
  return version === 'buffer' ? 'the buffer is empty' : `there is no revision that is ${version}`;
}

/** Ways to treat what the buffer holds already (airship.md §5). */
export const bufferModes = ['append', 'replace', 'rejectoncontents'] as const;
export type BufferMode = (typeof bufferModes)[number];
/** Ways that a rollback may take: it says what all collections are. */
export const rollbackModes = ['replace', 'rejectoncontents'] as const;
export type RollbackMode = (typeof rollbackModes)[number];
