import { z } from 'zod';
import type { NodeDescription } from '#conductor/api/node-description.ts';
import type { NodeInsert } from '#conductor/kernel/db/schema/node.ts';

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
