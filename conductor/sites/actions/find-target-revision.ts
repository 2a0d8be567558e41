import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { ActionParameters, TargetRevision } from '#conductor/model/action-parameters.ts';
import { actionTable } from '#conductor/model/action-table.ts';
import type { ActionName } from '#conductor/model/site-actions.ts';
import { findRevisionByRole } from '#conductor/sites/revisions/revision-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const hints: Readonly<Record<TargetRevision, string>> = {
  committed: 'upload documents and commit them first',
  'successful-site-action':
    'no site action has succeeded yet, or the revision that it used was deleted; run deploy_site or update_site to its ' +
    'success first, or give target-revision=committed, to work from the documents that are committed now',
  'last-site-action':
    'no site action has got past validation yet, or the revision that it used was deleted; run deploy_site or ' +
    'update_site first, or give target-revision=committed, to work from the documents that are committed now',
};

/**
 * The revision that an action is to work from: the committed one, or what `target-revision` says, by default the last
 * known good one (seed 001, "Shipyard redeploy_server Action").
 * @throws AppError `invalid_argument` (reason `NoCommittedConfigdocs`, `MissingPrecondition`) when there is none
 */
export async function findTargetRevision(
  db: Queryable,
  { name, parameters }: { readonly name: ActionName; readonly parameters: ActionParameters },
): Promise<number> {
  const role = parameters['target-revision'] ?? actionTable[name].revision ?? 'committed';
  const revision = await findRevisionByRole(db, role);
  if (revision) return revision.id;
  if (role === 'committed') {
    throw new AppError('invalid_argument', `No committed configdocs: ${hints.committed}`, {
      details: { reason: 'NoCommittedConfigdocs' },
    });
  }
  throw new AppError('invalid_argument', `${name} not started: there is no revision of ${role}: ${hints[role]}`, {
    details: { reason: 'MissingPrecondition', 'target-revision': role },
  });
}
