import type { PortgroupDescription } from '#conductor/api/portgroup-description.ts';
import type { PortgroupRow } from '#conductor/kernel/db/schema/portgroup.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';

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
