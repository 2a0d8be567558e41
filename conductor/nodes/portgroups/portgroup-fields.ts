import { z } from 'zod';
import type { PortgroupRow } from '#conductor/kernel/db/schema/portgroup.ts';
import { jsonDocument, looseBoolean } from '#conductor/nodes/node-fields.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { macAddress } from '#conductor/nodes/ports/port-fields.ts';

/** Fields of the API's port group in the order shown, with the microversion since which (ironic-api.md §4). */
export const portgroupFieldVersions = {
  uuid: 23,
  created_at: 23,
  updated_at: 23,
  address: 23,
  extra: 23,
  internal_info: 23,
  mode: 26,
  name: 23,
  properties: 26,
  standalone_ports_supported: 23,
  node_uuid: 23,
} as const satisfies Record<string, number>;
export type PortgroupField = keyof typeof portgroupFieldVersions;

export const portgroupFields = Object.keys(portgroupFieldVersions) as PortgroupField[];
export const defaultPortgroupListFields = ['uuid', 'address', 'name'] as const satisfies readonly PortgroupField[];

/** Linux's bonding modes; the number of each is its place. */
const bondingModes = [
  'balance-rr',
  'active-backup',
  'balance-xor',
  'broadcast',
  '802.3ad',
  'balance-tlb',
  'balance-alb',
] as const;

const mode = z.string().refine((text) => bondingModes.some((name, place) => text === name || text === String(place)), {
  error: `must be one of ${bondingModes.join(', ')}, or a number from 0 to ${bondingModes.length - 1}`,
});

const name = z
  .string()
  .regex(/^[\w.~-]{1,255}$/, 'must be 1 to 255 letters, digits and - . _ ~')
  .refine((text) => !z.guid().safeParse(text).success && text !== 'detail', 'must not look like a UUID or be `detail`')
  .nullish()
  .transform((text) => text ?? null);

/** What an operator may write about a port group; what is absent has its default. */
export const PortgroupDescription = z.strictObject({
  address: macAddress.nullish().transform((address) => address ?? null),
  name,
  mode: mode.default('active-backup'),
  properties: jsonDocument.nullish().transform((properties) => properties ?? {}),
  standalone_ports_supported: looseBoolean.nullish().transform((supported) => supported ?? true),
  extra: jsonDocument.nullish().transform((extra) => extra ?? {}),
});
export type PortgroupDescription = z.infer<typeof PortgroupDescription>;

/** The columns behind the writable fields. */
export const portgroupColumns = {
  address: 'address',
  name: 'name',
  mode: 'mode',
  properties: 'properties',
  standalone_ports_supported: 'standalonePortsSupported',
  extra: 'extra',
} as const satisfies Record<keyof PortgroupDescription, keyof PortgroupRow>;

/** The port group as the API shows it, without links. Pure. */
export function viewPortgroup(
  portgroup: PortgroupRow,
  options: { readonly version: number; readonly fields: readonly PortgroupField[] },
): Record<string, unknown> {
  const values: Record<PortgroupField, unknown> = {
    uuid: portgroup.uuid,
    created_at: apiTime(portgroup.createdAt),
    updated_at: apiTime(portgroup.updatedAt),
    address: portgroup.address,
    extra: portgroup.extra,
    internal_info: {},
    mode: portgroup.mode,
    name: portgroup.name,
    properties: portgroup.properties,
    standalone_ports_supported: portgroup.standalonePortsSupported,
    node_uuid: portgroup.nodeUuid,
  };
  return Object.fromEntries(
    options.fields
      .filter((field) => portgroupFieldVersions[field] <= options.version)
      .map((field) => [field, values[field]]),
  );
}
