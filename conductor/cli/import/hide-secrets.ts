import type { Fleet } from '#conductor/cli/import/fleet.ts';
import { isSecretPlace, mapDocument } from '#conductor/model/secret-names.ts';
import { maskUrlLogins } from '#shared/url-logins.ts';

/** Documents of an instance whose size says enough. */
const sized = /^(user_data|configdrive)$/;

/**
 * Masks a fleet's secrets by the rule of `secret-names.ts`, for a dry run, which is shown to people and kept in files:
 * `******` for each, the size of a config drive or user data in its place. Pure.
 */
export function hideSecretsOf(fleet: Fleet): Record<string, unknown> {
  return mapDocument({ ...fleet }, '', (value, place) => {
    if (value === null || value === undefined || value === '' || typeof value === 'boolean') return value;
    if (sized.test(place.key)) return `(${sizeOf(value)} bytes, not shown)`;
    if (isSecretPlace(place)) return '******';
    if (typeof value === 'string') return maskUrlLogins(value);
    return typeof value === 'object' ? undefined : value;
  });
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));
}
