import { z } from 'zod';
import type { NodeInsert } from '#conductor/db/schema/node.ts';
import { interfaceKinds } from '#conductor/nodes/node-interfaces.ts';

/** Fields of the API's node object, in the order shown, with the microversion since which (ironic-api.md §3.1). */
export const nodeFieldVersions = {
  uuid: 1,
  created_at: 1,
  updated_at: 1,
  automated_clean: 47,
  bios_interface: 40,
  boot_interface: 31,
  boot_mode: 75,
  clean_step: 7,
  conductor_group: 46,
  console_enabled: 1,
  console_interface: 31,
  disable_power_off: 95,
  deploy_interface: 31,
  deploy_step: 44,
  description: 51,
  driver: 1,
  driver_info: 1,
  driver_internal_info: 3,
  extra: 1,
  fault: 42,
  firmware_interface: 86,
  inspection_finished_at: 6,
  inspection_started_at: 6,
  inspect_interface: 31,
  instance_info: 1,
  instance_name: 104,
  instance_uuid: 1,
  last_error: 1,
  lessee: 65,
  maintenance: 1,
  maintenance_reason: 1,
  management_interface: 31,
  name: 5,
  network_data: 66,
  network_interface: 20,
  owner: 50,
  parent_node: 83,
  power_interface: 31,
  power_state: 1,
  properties: 1,
  protected: 48,
  protected_reason: 48,
  provision_state: 1,
  provision_updated_at: 1,
  raid_config: 12,
  raid_interface: 31,
  rescue_interface: 38,
  reservation: 1,
  resource_class: 21,
  retired: 61,
  retired_reason: 61,
  secure_boot: 75,
  service_step: 87,
  shard: 82,
  storage_interface: 33,
  target_power_state: 1,
  target_provision_state: 1,
  target_raid_config: 12,
  traits: 37,
  vendor_interface: 31,
  conductor: 49,
  allocation_uuid: 52,
  chassis_uuid: 1,
} as const satisfies Record<string, number>;
export type NodeField = keyof typeof nodeFieldVersions;

export const defaultListFields = [
  'uuid',
  'name',
  'instance_uuid',
  'maintenance',
  'power_state',
  'provision_state',
] as const satisfies readonly NodeField[];

export function isNodeField(name: string): name is NodeField {
  return Object.hasOwn(nodeFieldVersions, name);
}

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
