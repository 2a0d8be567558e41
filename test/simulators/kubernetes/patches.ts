import { applyPatch, type Operation } from 'rfc6902';
import { badRequest, Refusal } from '#test/simulators/kubernetes/refusal.ts';
import type { Draft, Json, Resource } from '#test/simulators/kubernetes/resource.ts';

/** Lists that a strategic merge patch merges, by what their members are told apart. */
const mergeKeys: Readonly<Record<string, string>> = {
  conditions: 'type',
  taints: 'key',
  containers: 'name',
  ownerReferences: 'uid',
};

/** @throws Refusal UnsupportedMediaType, BadRequest */
export function patched(object: Resource, contentType: string, patch: unknown): Draft {
  switch (contentType.split(';')[0]?.trim()) {
    case 'application/json-patch+json':
      return jsonPatched(object, patch);
    case 'application/merge-patch+json':
      return merged(object as unknown as Json, patch as Json, false) as unknown as Draft;
    case 'application/strategic-merge-patch+json':
      return merged(object as unknown as Json, patch as Json, true) as unknown as Draft;
    default:
      throw new Refusal(
        415,
        'UnsupportedMediaType',
        `the body of the request was in an unknown format: ${contentType}`,
      );
  }
}

function jsonPatched(object: Resource, patch: unknown): Draft {
  const copy = structuredClone(object);
  const [failure] = applyPatch(copy, patch as Operation[]).filter((result) => result !== null);
  if (failure) throw badRequest(`the server could not apply the patch: ${failure.message}`);
  return copy;
}

function isObject(value: Json | undefined): value is { readonly [key: string]: Json | undefined } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function merged(target: Json | undefined, patch: Json, isStrategic: boolean, field = ''): Json {
  if (isStrategic && Array.isArray(patch) && Array.isArray(target) && mergeKeys[field] !== undefined) {
    return mergedList(target as readonly Json[], patch as readonly Json[], mergeKeys[field]);
  }
  if (!isObject(patch)) return patch;
  const result: Record<string, Json | undefined> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    // what tells of the order of lists has nothing to do here
    if (key.startsWith('$')) continue;
    if (value === null || value === undefined) delete result[key];
    else result[key] = merged(result[key], value, isStrategic, key);
  }
  return result;
}

function mergedList(target: readonly Json[], patch: readonly Json[], key: string): Json {
  const idOf = (member: Json): Json | undefined => (isObject(member) ? member[key] : undefined);
  const result = [...target];
  for (const member of patch) {
    const place = result.findIndex((each) => idOf(each) === idOf(member));
    if (isObject(member) && member['$patch'] === 'delete') {
      if (place >= 0) result.splice(place, 1);
    } else if (place >= 0) result[place] = merged(result[place], member, true);
    else result.push(member);
  }
  return result;
}
