import type { Access } from '#conductor/auth/access-rules.ts';

const administer: Access = { everywhere: 'admin', owner: 'admin' };
const operateEverywhere: Access = { everywhere: 'member' };
const ownerOperates: Access = { everywhere: 'member', owner: 'member' };
const manage: Access = { everywhere: 'member', owner: 'admin' };

/**
 * Fields of a node that not everybody may change who may change the node (`baremetal:node:update:…` of Ironic). Whose a
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
  network_data: ownerOperates,
  bios_interface: manage,
  boot_interface: manage,
  console_interface: manage,
  deploy_interface: manage,
  firmware_interface: manage,
  inspect_interface: manage,
  management_interface: manage,
  network_interface: manage,
  power_interface: manage,
  raid_interface: manage,
  rescue_interface: manage,
  storage_interface: manage,
  vendor_interface: manage,
};
