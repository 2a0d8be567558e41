import { requireVersion } from '#conductor/http/routing/versions.ts';
import type { JsonPatch } from '#conductor/kernel/json-patch.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Keys of documents that only some microversions have, by field: the first version with the key, and the first without. */
export type DocumentKeys = Readonly<Record<string, Readonly<Record<string, { since: number; until: number }>>>>;

/** @throws AppError `not_acceptable` naming a key of a written document that the version in use does not have. */
export function requireKeys(keys: DocumentKeys, written: Readonly<Record<string, unknown>>, version: number): void {
  for (const [field, rules] of Object.entries(keys)) {
    for (const [key, { since, until }] of Object.entries(rules)) {
      if (!hasKey(written[field], key)) continue;
      requireVersion(version, since, `key '${key}' of ${field}`);
      if (version < until) continue;
      throw new AppError(
        'not_acceptable',
        `Request not acceptable: key '${key}' of ${field} is gone since API version 1.${until}, the request uses 1.${version}.`,
      );
    }
  }
}

/** Requires the same of what a patch adds or replaces. @throws AppError `not_acceptable`. */
export function requirePatchedKeys(keys: DocumentKeys, patch: JsonPatch, version: number): void {
  for (const { op, path, value } of patch) {
    const [, field = '', key] = path.split('/');
    if (op === 'remove') continue;
    requireKeys(keys, { [field]: key === undefined ? value : { [key]: value } }, version);
  }
}

/** Shows a document with a key that the version in use does not have as an empty one, as Ironic does. Pure. */
export function hideKeys(
  keys: DocumentKeys,
  view: Readonly<Record<string, unknown>>,
  version: number,
): Readonly<Record<string, unknown>> {
  const hidden = Object.entries(keys).filter(([field, rules]) =>
    Object.entries(rules).some(
      ([key, { since, until }]) => (version < since || version >= until) && hasKey(view[field], key),
    ),
  );
  return hidden.length === 0 ? view : { ...view, ...Object.fromEntries(hidden.map(([field]) => [field, {}])) };
}

function hasKey(document: unknown, key: string): boolean {
  return typeof document === 'object' && document !== null && Object.hasOwn(document, key);
}
