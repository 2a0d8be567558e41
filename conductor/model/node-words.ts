import type { JsonObject } from '#conductor/model/json-object.ts';

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
  health: 109,
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

/**
 * Ironic's per-node interface choices. Baton has one implementation of each kind, so there is little to choose: the
 * network, whether fake hardware is deployed by an agent, and what a node shall not do (`no-…`); the other names are
 * kept as clients send them.
 */
export const interfaceKinds = [
  'bios',
  'boot',
  'console',
  'deploy',
  'firmware',
  'inspect',
  'management',
  'network',
  'power',
  'raid',
  'rescue',
  'storage',
  'vendor',
] as const;
export type InterfaceKind = (typeof interfaceKinds)[number];

/**
 * Returns the rack that an operator has noted with the node: `properties.rack`, else `extra.rack`; a number counts as its
 * text. Ironic has no field for it and its users no convention. Pure.
 */
export function rackOf(node: { readonly properties: JsonObject; readonly extra: JsonObject }): string | undefined {
  return nameOf(node.properties['rack']) ?? nameOf(node.extra['rack']);
}

/**
 * Returns the lowest unit of the rack that the machine fills, counted from 1 at the bottom, that an operator has noted with
 * the node: `properties.rack_unit`, else `extra.rack_unit`, as a number or its text. Anything else is not a unit. Pure.
 */
export function rackUnitOf(node: { readonly properties: JsonObject; readonly extra: JsonObject }): number | undefined {
  return unitOf(node.properties['rack_unit']) ?? unitOf(node.extra['rack_unit']);
}

/** Pattern, for PostgreSQL too, whose only group is the name of an image in its address: no user, password or query. */
export const imageNamePattern = /^(?:[a-z]+:\/\/[^/?#]*\/(?:[^?#]*\/)?)?([^/?#:@]+)\/?(?:[?#].*)?$/;

/** Names the image of a node by the last part of its `instance_info.image_source`: `debian-12.raw`. Pure. */
export function imageNameOf({ instance_info: { image_source: source } }: { readonly instance_info: JsonObject }) {
  return typeof source === 'string' ? imageNamePattern.exec(source)?.[1] : undefined;
}

function unitOf(value: unknown): number | undefined {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && /^[1-9]\d?$/.test(text) ? Number(text) : undefined;
}

function nameOf(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Why a conductor has put a node into maintenance, as its `fault` has it; the first two are Ironic's. */
export const nodeFaults = {
  power: 'power failure',
  clean: 'clean failure',
  /** Since a dump, or a standby that was behind, nobody knows what has become of the machine: nothing at all goes on. */
  restored: 'restored',
} as const;

/** Values that a node's `fault` may have. */
export const allFaults: readonly string[] = [...Object.values(nodeFaults), 'rescue abort failure', 'service failure'];
