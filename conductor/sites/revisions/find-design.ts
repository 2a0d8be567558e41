import { describeNoRevision, parseRole, type RevisionRole, revisionRoles } from '#conductor/model/revision-roles.ts';
import { errorsIn } from '#conductor/model/site-fault.ts';
import { type CheckContext, checkRevision } from '#conductor/sites/revisions/check-revision.ts';
import { findRevisionByRole } from '#conductor/sites/revisions/revision-store.ts';
import type { Site } from '#conductor/sites/site.ts';
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
  const errors = errorsIn(faults).length;
  throw new AppError(
    'invalid_argument',
    `${field}: the documents of revision ${revision} are no site: ${errors === 1 ? '1 fault' : `${errors} faults`}`,
    {
      details: { faults, reason: 'InvalidDesign' },
    },
  );
}

/** Which revision of a site's documents is meant. */
type DesignReference = { readonly revision: number } | { readonly role: RevisionRole };

const largestId = 2 ** 31 - 1;

/**
 * A revision's number, its role (`committed`), or Deckhand's address of its documents, as Drydock's API takes it:
 * `deckhand+http://baton.example:6385/api/v1.0/revisions/7/rendered-documents`. Another host's revision 7 is another one. Pure.
 * @param field for the message
 * @param origins of this service, as its clients write it
 * @throws AppError `invalid_argument`
 */
export function parseDesignReference(
  reference: string | number,
  field: string,
  origins: readonly string[],
): DesignReference {
  const text = String(reference).trim();
  const role = parseRole(text);
  if (role !== undefined) return { role };
  const address = /^deckhand\+(https?:.*\/revisions\/(\d+)\/rendered-documents\/?)$/.exec(text);
  const revision = Number(/^\d+$/.exec(text)?.[0] ?? address?.[2] ?? Number.NaN);
  if (revision >= 1 && revision <= largestId) {
    if (address?.[1] !== undefined) requireOwnHost(address[1], field, origins);
    return { revision };
  }
  throw new AppError(
    'invalid_argument',
    `${field}: ${JSON.stringify(reference)} is no revision of a site; it must be a number, one of ${revisionRoles.join(', ')}, or deckhand+http://…/revisions/NUMBER/rendered-documents`,
  );
}

function requireOwnHost(address: string, field: string, origins: readonly string[]): void {
  const host = URL.parse(address)?.host;
  const own = [...new Set(origins.map((origin) => new URL(origin).host))];
  if (host !== undefined && own.includes(host)) return;
  throw new AppError(
    'invalid_argument',
    `${field}: ${JSON.stringify(host ?? address)} is another host than this one (${own.join(', ')}), whose revisions are not its; ` +
      "upload the documents here, and write their revision's number",
  );
}
