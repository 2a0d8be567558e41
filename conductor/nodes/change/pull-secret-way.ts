import type { JsonObject } from '#conductor/model/json-object.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { findOciReference, isOciSource, parseOciReference } from '#shared/oci/reference.ts';

/**
 * Checks that a registry's secret goes to no other registry than its writer has named: a caller that may change the image, and
 * sees the secret as `******`, must not have it sent to another host. Pure.
 * @param after the document with the kept secret in place of `******`
 * @throws AppError `invalid_argument` naming what must come along.
 */
export function requireSecretForNewRegistry(after: JsonObject, before: JsonObject): void {
  const secret = after['image_pull_secret'] ?? null;
  // each sealing of the same text is another one: what is equal was not written
  if (secret === null || secret !== before['image_pull_secret']) return;
  const source = after['image_source'];
  if (!isOciSource(source) || source === before['image_source']) return;
  const { registry } = parseOciReference(source, 'instance_info.image_source');
  // a stored one that can't be read has named no registry
  const { image_source: known } = before;
  if (isOciSource(known) && findOciReference(known)?.registry === registry) return;
  throw new AppError(
    'invalid_argument',
    'instance_info: image_source decides where image_pull_secret is sent, and secrets are not shown: write ' +
      'instance_info/image_pull_secret again in the same request, or remove it.',
  );
}
