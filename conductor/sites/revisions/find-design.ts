import { describeNoRevision } from '#conductor/model/revision-roles.ts';
import { type CheckContext, checkRevision } from '#conductor/sites/revisions/check-revision.ts';
import { findRevisionByRole } from '#conductor/sites/revisions/revision-store.ts';
import type { Site } from '#conductor/sites/site.ts';
import { parseDesignReference } from '#conductor/sites/strategy/design-reference.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * The site that a design reference means: see `parseDesignReference` for its forms.
 * @param field what the message begins with
 * @param origins of this service, as its clients write it
 * @throws AppError `invalid_argument` for what is no revision, or for one that is no site; `not_found`
 */
export async function findDesign(
  context: CheckContext,
  reference: string | number,
  field: string,
  origins: readonly string[],
): Promise<{ readonly site: Site; readonly revision: number }> {
  const wanted = parseDesignReference(reference, field, origins);
  const revision = 'revision' in wanted ? wanted.revision : (await findRevisionByRole(context.db, wanted.role))?.id;
  if (revision === undefined) {
    const named = 'role' in wanted ? wanted.role : String(reference);
    throw new AppError('not_found', `${field}: ${describeNoRevision(named)}`);
  }
  const { site, faults } = await checkRevision(context, revision);
  if (site) return { site, revision };
  const errors = faults.filter(({ level }) => level === 'Error').length;
  throw new AppError(
    'invalid_argument',
    `${field}: the documents of revision ${revision} are no site: ${errors === 1 ? '1 fault' : `${errors} faults`}`,
    {
      details: { faults, reason: 'InvalidDesign' },
    },
  );
}
