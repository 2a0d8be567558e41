import { isSecretPlace, mapDocument } from '#conductor/secrets/secret-names.ts';
import { isSealed } from '#conductor/secrets/secrets.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';

export const mask = '******';

/** The document as it may be shown: secrets, at any depth, as `******`, sealed or not; nothing is opened for it. */
export function maskDocument(
  document: Readonly<Record<string, unknown>>,
  secretSettings?: ReadonlySet<string>,
): Record<string, unknown> {
  return mapDocument(document, '', (value, place) => {
    if (isSecretPlace(place, secretSettings) || isSealed(value)) return mask;
    if (typeof value === 'string') return maskUrlLogins(value);
    return typeof value === 'object' && value !== null ? undefined : value;
  });
}

/**
 * The document with what it had before in place of `******`: a client that read that and wrote it back did not mean to
 * change the secret. Entries of lists are told by their places.
 */
export function keepMasked(
  after: Readonly<Record<string, unknown>>,
  before: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(after).map(([key, value]) => [key, Object.hasOwn(before, key) ? kept(value, before[key]) : value]),
  );
}

function kept(after: unknown, before: unknown): unknown {
  if (typeof after === 'string') {
    const isShown =
      after === mask || (typeof before === 'string' && after.includes(mask) && after === maskUrlLogins(before));
    return isShown ? before : after;
  }
  if (typeof after !== 'object' || after === null || typeof before !== 'object' || before === null) return after;
  if (Array.isArray(after)) {
    const entries: readonly unknown[] = Array.isArray(before) ? before : [];
    return after.map((entry: unknown, index) => (index < entries.length ? kept(entry, entries[index]) : entry));
  }
  return Array.isArray(before)
    ? after
    : keepMasked(after as Record<string, unknown>, before as Record<string, unknown>);
}
