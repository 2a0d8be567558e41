import type { ConductorContext } from '#conductor/context.ts';
import { getRevision } from '#conductor/sites/revisions/revision-store.ts';
import type { Site } from '#conductor/sites/site.ts';
import type { SiteFault } from '#conductor/sites/site-fault.ts';
import { AppError } from '#shared/errors/app-error.ts';

export interface CheckedRevision {
  /** Absent when a fault is an error. */
  readonly site?: Site;
  readonly faults: readonly SiteFault[];
}

/**
 * A revision's documents as a site, measured by what this conductor knows now: its networks, plugins, credentials.
 * @throws AppError `not_found` for an unknown revision.
 */
export async function checkRevision(context: ConductorContext, id: number): Promise<CheckedRevision> {
  await getRevision(context.db, id);
  throw new AppError('not_supported', 'Documents are not read yet.');
}
