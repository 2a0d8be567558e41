import type { AccessRule } from '#conductor/auth/access.ts';
import {
  type Access,
  administer,
  administerOwn,
  manage,
  operate,
  operateEverywhere,
  ownerOperates,
} from '#conductor/auth/access.ts';
import { accessDenied, type Caller, hasRole, type Role } from '#conductor/kernel/caller.ts';
import type { Ownership } from '#conductor/nodes/node-ownership.ts';

/**
 * Judges whether the caller has access.
 * @param ownership of the node that is asked for; `undefined` where the request names no node.
 * @returns `hidden` for a node that the caller neither owns nor leases: even its existence is not shown. Pure.
 */
export function judgeAccess(
  access: Access,
  caller: Caller,
  ownership: Ownership | undefined,
): 'allowed' | 'hidden' | { readonly needed: Role | undefined } {
  const needed = neededRoles(access, caller, ownership);
  if (needed === undefined) return 'hidden';
  if (needed.some((role) => role !== undefined && hasRole(caller, role))) return 'allowed';
  return { needed: needed.find((role) => role !== undefined) };
}

/** Lists roles of which one is enough; `undefined` for a node that the caller's project neither owns nor leases. */
function neededRoles(
  access: Access,
  { project }: Caller,
  ownership: Ownership | undefined,
): (Role | undefined)[] | undefined {
  if (project === undefined) return [access.everywhere];
  if (!ownership) return [access.owner, access.lessee];
  const isOwner = ownership.owner === project;
  const isLessee = ownership.lessee === project;
  if (!isOwner && !isLessee) return undefined;
  return [isOwner ? access.owner : undefined, isLessee ? access.lessee : undefined];
}

/** Indexes rules by method and path, `GET /v1/nodes/:node`, in hono's form of routes. */
export function indexRules(rules: readonly AccessRule[]): ReadonlyMap<string, AccessRule> {
  return new Map(rules.map((rule) => [`${rule.method} ${rule.path.replaceAll(/\{(\w+)\}/g, ':$1')}`, rule]));
}

/**
 * Rules for changes of a node's fields (`baremetal:node:update:…` of Ironic); fields that are not listed can't be changed.
 * No project may change the owner of a node, nor the BMC by which the node is reached.
 */
export const patchRules: Readonly<Record<string, Access>> = {
  driver: administerOwn,
  driver_info: administerOwn,
  owner: operateEverywhere,
  lessee: ownerOperates,
  conductor_group: operateEverywhere,
  chassis_uuid: administer,
  shard: operateEverywhere,
  parent_node: operateEverywhere,
  protected: ownerOperates,
  protected_reason: ownerOperates,
  retired: ownerOperates,
  retired_reason: ownerOperates,
  maintenance: ownerOperates,
  disable_power_off: ownerOperates,
  automated_clean: manage,
  instance_uuid: ownerOperates,
  name: ownerOperates,
  description: ownerOperates,
  properties: ownerOperates,
  resource_class: ownerOperates,
  extra: operate,
  instance_info: operate,
  instance_name: operate,
  network_data: ownerOperates,
  bios_interface: manage,
  boot_interface: manage,
  console_interface: manage,
  deploy_interface: manage,
  firmware_interface: manage,
  inspect_interface: manage,
  management_interface: manage,
  // whether its switch ports are moved at all
  network_interface: operateEverywhere,
  power_interface: manage,
  raid_interface: manage,
  rescue_interface: manage,
  storage_interface: manage,
  vendor_interface: manage,
};

/**
 * Refuses fields that a caller who may change, or enrol, the node as a whole may not write.
 * @param ownership of the node; of a new one, that the caller's project owns it.
 * @throws AppError `forbidden` naming the first field that the caller may not write.
 */
export function requireFieldRights(
  fields: Iterable<string>,
  policy: string,
  caller: Caller,
  ownership: Ownership | undefined,
): void {
  for (const field of fields) {
    const access = Object.hasOwn(patchRules, field) ? patchRules[field] : undefined;
    const verdict = access === undefined ? { needed: undefined } : judgeAccess(access, caller, ownership);
    if (typeof verdict === 'object') throw accessDenied(`${policy}:${field}`, caller, verdict.needed);
  }
}
