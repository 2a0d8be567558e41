import { parseRole, type RevisionRole, revisionRoles } from '#conductor/model/revision-roles.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Which revision of a site's documents is meant. */
export type DesignReference = { readonly revision: number } | { readonly role: RevisionRole };

const largestId = 2 ** 31 - 1;

/**
 * A revision's number, its role (`committed`), or Deckhand's address of its documents, as Drydock's API takes it:
 * `deckhand+http://deckhand.example/api/v1.0/revisions/7/rendered-documents`. The documents are those of this conductor,
 * whatever host the address has. Pure.
 * @param field for the message
 * @throws AppError `invalid_argument`
 */
export function parseDesignReference(reference: string | number, field: string): DesignReference {
  const text = String(reference).trim();
  const role = parseRole(text);
  if (role !== undefined) return { role };
  const number =
    /^\d+$/.exec(text)?.[0] ?? /^deckhand\+https?:.*\/revisions\/(\d+)\/rendered-documents\/?$/.exec(text)?.[1];
  const revision = Number(number ?? Number.NaN);
  if (revision >= 1 && revision <= largestId) return { revision };
  throw new AppError(
    'invalid_argument',
    `${field}: ${JSON.stringify(reference)} is no revision of a site; it must be a number, one of ${revisionRoles.join(', ')}, or deckhand+http://…/revisions/NUMBER/rendered-documents`,
  );
}
