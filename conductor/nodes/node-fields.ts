import { z } from 'zod';
import type { NodeInsert } from '#conductor/kernel/db/schema/node.ts';
import { interfaceKinds } from '#conductor/model/interface-kinds.ts';

export const jsonDocument = z.record(z.string(), z.unknown(), { error: 'must be a JSON object' });
const line = z.string({ error: 'must be text' }).max(255).nullable();
const wordsForTrue = new Set(['true', 't', 'yes', 'y', 'on', '1']);
const wordsForFalse = new Set(['false', 'f', 'no', 'n', 'off', '0']);

/** Clients send booleans as words too (ironic-api.md §3.3). */
export const looseBoolean = z.union([z.boolean(), z.string()]).transform((value, context): boolean => {
  const word = String(value).toLowerCase();
  if (wordsForTrue.has(word)) return true;
  if (!wordsForFalse.has(word)) context.addIssue({ code: 'custom', message: 'must be true or false' });
  return false;
});

const interfaceFields = Object.fromEntries(interfaceKinds.map((kind) => [`${kind}_interface`, line])) as Record<
  `${(typeof interfaceKinds)[number]}_interface`,
  typeof line
>;

/** What an operator may write about a node (ironic-api.md §3.2, §3.3); every key may be absent. */
export const NodeDescription = z
  .strictObject({
    name: line,
    driver: z.string({ error: 'must be the name of a hardware type (GET /v1/drivers)' }).min(1).max(255),
    driver_info: jsonDocument,
    properties: jsonDocument,
    extra: jsonDocument,
    instance_info: jsonDocument,
    network_data: jsonDocument,
    instance_uuid: z.guid({ error: 'must be a UUID' }).nullable(),
    instance_name: line,
    resource_class: z.string().max(80).nullable(),
    conductor_group: z.string().max(255),
    owner: line,
    lessee: line,
    description: z.string().max(4096).nullable(),
    shard: line,
    automated_clean: looseBoolean.nullable(),
    protected: looseBoolean,
    protected_reason: z.string().nullable(),
    retired: looseBoolean,
    retired_reason: z.string().nullable(),
    disable_power_off: looseBoolean,
    maintenance: looseBoolean,
    chassis_uuid: z.guid({ error: 'must be the UUID of a chassis' }).toLowerCase().nullable(),
    parent_node: z.null({ error: 'Baton has no parent nodes: it must be null or absent' }),
    ...interfaceFields,
  })
  .partial();
export type NodeDescription = z.infer<typeof NodeDescription>;

/** The columns behind the writable fields; the rest of them is checked and not kept. */
export const nodeColumns = {
  name: 'name',
  driver: 'driver',
  driver_info: 'driverInfo',
  properties: 'properties',
  extra: 'extra',
  instance_info: 'instanceInfo',
  network_data: 'networkData',
  instance_uuid: 'instanceUuid',
  instance_name: 'instanceName',
  resource_class: 'resourceClass',
  conductor_group: 'conductorGroup',
  owner: 'owner',
  lessee: 'lessee',
  description: 'description',
  shard: 'shard',
  automated_clean: 'automatedClean',
  protected: 'protected',
  protected_reason: 'protectedReason',
  retired: 'retired',
  retired_reason: 'retiredReason',
  disable_power_off: 'disablePowerOff',
  maintenance: 'maintenance',
  chassis_uuid: 'chassisUuid',
  network_interface: 'networkInterface',
  deploy_interface: 'deployInterface',
} as const satisfies Partial<Record<keyof NodeDescription, keyof NodeInsert>>;

/** Words that stand where a node's name does in the API's paths. */
const reservedNames = new Set(['states', 'vendor_passthru', 'management', 'maintenance', 'detail', 'validate']);

/** Why this can't be a node's name, or `undefined`. Host names only before 1.10. */
export function nodeNameFault(name: string, version: number): string | undefined {
  const legal =
    version >= 10 ? /^[\w.~-]{1,255}$/ : /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;
  if (!legal.test(name)) return 'it must be 1 to 255 letters, digits and - . _ ~';
  if (reservedNames.has(name)) return 'the word is reserved';
  // a failing parse is not cheap, and a site has ten thousand names
  return name.length === 36 && z.guid().safeParse(name).success ? 'it must not look like a UUID' : undefined;
}
