import type { PortDescription } from '#conductor/api/port-description.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';

/** Fields of the API's port object in the order shown, with the microversion since which (ironic-api.md §4). */
export const portFieldVersions = {
  uuid: 1,
  created_at: 1,
  updated_at: 1,
  address: 1,
  extra: 1,
  internal_info: 18,
  is_smartnic: 53,
  local_link_connection: 19,
  physical_network: 34,
  pxe_enabled: 19,
  node_uuid: 1,
  name: 88,
  description: 97,
  portgroup_uuid: 24,
} as const satisfies Record<string, number>;
export type PortField = keyof typeof portFieldVersions;

export const defaultPortListFields = ['uuid', 'address'] as const satisfies readonly PortField[];

/** The columns behind the writable fields. */
export const portColumns = {
  address: 'address',
  name: 'name',
  description: 'description',
  extra: 'extra',
  local_link_connection: 'localLinkConnection',
  pxe_enabled: 'pxeEnabled',
  physical_network: 'physicalNetwork',
  is_smartnic: 'isSmartnic',
  portgroup_uuid: 'portgroupUuid',
} as const satisfies Partial<Record<keyof PortDescription, keyof PortRow>>;

/** The port as the API shows it, without links. Pure. */
export function viewPort(
  port: PortRow,
  options: { readonly version: number; readonly fields: readonly PortField[] | undefined },
): Record<string, unknown> {
  const values: Record<PortField, unknown> = {
    uuid: port.uuid,
    created_at: apiTime(port.createdAt),
    updated_at: apiTime(port.updatedAt),
    address: port.address,
    extra: port.extra,
    internal_info: {},
    is_smartnic: port.isSmartnic,
    local_link_connection: port.localLinkConnection,
    physical_network: port.physicalNetwork,
    pxe_enabled: port.pxeEnabled,
    node_uuid: port.nodeUuid,
    name: port.name,
    description: port.description,
    portgroup_uuid: port.portgroupUuid,
  };
  const names = options.fields ?? (Object.keys(portFieldVersions) as PortField[]);
  return Object.fromEntries(
    names.filter((name) => portFieldVersions[name] <= options.version).map((name) => [name, values[name]]),
  );
}
