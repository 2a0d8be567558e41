import { getTableColumns } from 'drizzle-orm';
import { z } from 'zod';
import { NodeDescription } from '#conductor/api/node-description.ts';
import { nodes } from '#conductor/kernel/db/schema/node.ts';

/** Returns the column behind a field of the API: `local_link_connection` → `localLinkConnection`. */
export function columnName(field: string): string {
  return field.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

const columns = getTableColumns(nodes);

/** The writable fields that have a column of their own, each with its column; the rest is checked and not kept there. */
export const nodeColumns = Object.keys(NodeDescription.shape)
  .map((field) => [field, columnName(field)] as [keyof NodeDescription, keyof typeof columns])
  .filter(([, column]) => Object.hasOwn(columns, column));

/** Words that stand where a node's name does in the API's paths. */
const reservedNames = new Set(['states', 'vendor_passthru', 'management', 'maintenance', 'detail', 'validate']);

/** Explains why this can't be a node's name, or `undefined`. Host names only before 1.10. */
export function nodeNameFault(name: string, version: number): string | undefined {
  const legal =
    version >= 10 ? /^[\w.~-]{1,255}$/ : /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;
  if (!legal.test(name)) return 'it must be 1 to 255 letters, digits and - . _ ~';
  if (reservedNames.has(name)) return 'the word is reserved';
  // a failing parse is not cheap, and a site has ten thousand names
  return name.length === 36 && z.guid().safeParse(name).success ? 'it must not look like a UUID' : undefined;
}
