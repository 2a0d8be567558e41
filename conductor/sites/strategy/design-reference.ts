import { parseRole, type RevisionRole, revisionRoles } from '#conductor/model/revision-roles.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Which revision of a site's documents is meant. */
export type DesignReference = { readonly revision: number } | { readonly role: RevisionRole };

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
