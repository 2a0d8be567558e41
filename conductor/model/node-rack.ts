import type { JsonObject } from '#conductor/model/json-object.ts';

/**
 * The rack that an operator has noted with the node: `properties.rack`, else `extra.rack`; a number counts as its text.
 * Ironic has no field for it and its users no convention. Pure.
 */
export function rackOf(node: { readonly properties: JsonObject; readonly extra: JsonObject }): string | undefined {
  return nameOf(node.properties['rack']) ?? nameOf(node.extra['rack']);
}

function nameOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
