import { isDeepStrictEqual } from 'node:util';
import type { Json } from '#conductor/cli/api-client.ts';

const secret = '******';

/**
 * Where what there is differs from what was written, as paths: `driver_info.redfish_address`. What was not written may be
 * anything, and a secret, which no answer shows, is taken to be right. Pure.
 */
export function compareFields(written: Json, found: Json, prefix = ''): string[] {
  return Object.entries(written).flatMap(([name, value]) => {
    const path = `${prefix}${name}`;
    const there = found[name];
    if (isObject(value) && isObject(there)) return compareFields(value, there, `${path}.`);
    return isSame(value, there) ? [] : [path];
  });
}

function isSame(value: unknown, there: unknown): boolean {
  if (there === secret || isDeepStrictEqual(value, there)) return true;
  if (value === null || there === undefined) return value === (there ?? null);
  // the API takes words and numbers for true, false and text, and upper case in UUIDs
  return asWord(value) !== undefined && asWord(value) === asWord(there);
}

function asWord(value: unknown): string | undefined {
  const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
  return isScalar ? String(value).toLowerCase() : undefined;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
