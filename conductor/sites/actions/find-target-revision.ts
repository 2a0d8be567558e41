import type { Queryable } from '#conductor/kernel/db/open.ts';
import type { ActionName, ActionParameters, TargetRevision } from '#conductor/model/site/action-parameters.ts';
import { actionTable } from '#conductor/model/site/action-table.ts';
import { findRevisionByRole } from '#conductor/sites/revisions/revision-store.ts';
import { findGoodRevisions } from '#conductor/sites/revisions/revision-tags.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { nameSome } from '#shared/words.ts';

const hints: Readonly<Record<TargetRevision, string>> = {
  committed: 'upload documents and commit them first',
  'successful-site-action':
    'no site action has succeeded for it yet, or the revision that it used was deleted; run deploy_site or update_site to its ' +
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
  if (role === 'successful-site-action') return findGoodRevision(db, name, parameters.target_nodes ?? []);
  const revision = await findRevisionByRole(db, role);
  if (revision) return revision.id;
  if (role === 'committed') {
    throw new AppError('invalid_argument', `No committed configdocs: ${hints.committed}`, {
      details: { reason: 'NoCommittedConfigdocs' },
    });
  }
  throw missing(role, `${name} not started: there is no revision of ${role}: ${hints[role]}`);
}

function missing(role: TargetRevision, message: string): AppError {
  return new AppError('invalid_argument', message, {
    details: { reason: 'MissingPrecondition', 'target-revision': role },
  });
}

/**
 * Finds the revision that is known good for all these nodes: that of one node may be older, or newer, than another's,
 * and a redeploy of one says nothing of the others.
 */
async function findGoodRevision(db: Queryable, name: ActionName, nodes: readonly string[]): Promise<number> {
  const role = 'successful-site-action';
  const revisions = await findGoodRevisions(db, nodes);
  const without = nodes.filter((node) => !revisions.has(node));
  if (nodes.length === 0 || without.length > 0) {
    const whose = without.length === 0 ? '' : ` for ${nameSome(without, namedNodes)}`;
    throw missing(role, `${name} not started: there is no revision of ${role}${whose}: ${hints[role]}`);
  }
  const byRevision = Map.groupBy(nodes, (node) => revisions.get(node) ?? 0);
  const [only, ...others] = byRevision.keys();
  if (only !== undefined && others.length === 0) return only;
  const list = [...byRevision].map(([revision, of]) => `${revision}: ${nameSome(of, namedNodes)}`).join('; ');
  throw missing(
    role,
    `${name} not started: parameters.target_nodes: their last successful site actions used different revisions (${list}); ` +
      'redeploy the nodes of each revision by an action of their own, or give target-revision=committed',
  );
}

const namedNodes = 5;
