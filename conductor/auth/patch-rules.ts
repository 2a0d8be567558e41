import type { Access } from '#conductor/auth/access-rules.ts';
import { judge } from '#conductor/auth/authorize.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import { accessDenied } from '#conductor/kernel/caller.ts';
import type { Ownership } from '#conductor/nodes/node-ownership.ts';

const administer: Access = { everywhere: 'admin', owner: 'admin' };
const operateEverywhere: Access = { everywhere: 'member' };
const ownerOperates: Access = { everywhere: 'member', owner: 'member' };
const operate: Access = { everywhere: 'member', owner: 'member', lessee: 'admin' };
const manage: Access = { everywhere: 'member', owner: 'admin' };

/**
 * Who may change which field of a node (`baremetal:node:update:…` of Ironic); what is not here nobody may. Whose a
 * node is, no project decides, nor may it be reached by another BMC than its administrators say.
 */
export const patchRules: Readonly<Record<string, Access>> = {
  driver: administer,
  driver_info: administer,
  owner: operateEverywhere,
  lessee: ownerOperates,
  conductor_group: operateEverywhere,
  chassis_uuid: { everywhere: 'admin' },
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
 * For callers who may change, or enrol, the node as a whole.
 * @param ownership of the node; of a new one, that the caller's project owns it.
 * @throws AppError `forbidden` naming the first field that is not theirs to write.
 */
export function requireFieldRights(
  fields: Iterable<string>,
  policy: string,
  caller: Caller,
  ownership: Ownership | undefined,
): void {
  for (const field of fields) {
    const access = Object.hasOwn(patchRules, field) ? patchRules[field] : undefined;
    const verdict = access === undefined ? { needed: undefined } : judge(access, caller, ownership);
    if (typeof verdict === 'object') throw accessDenied(`${policy}:${field}`, caller, verdict.needed);
  }
}
