import { PortgroupDescription, portgroupFields } from '#conductor/api/ports.ts';
import { type PortgroupRow, portgroups } from '#conductor/kernel/db/schema/port.ts';
import { listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import { requireNoVif } from '#conductor/nodes/ports/require-no-vif.ts';
import { requireNotInUse } from '#conductor/nodes/require-not-in-use.ts';
import type { Resource } from '#conductor/nodes/resources/resource.ts';
import { AppError } from '#shared/errors/app-error.ts';

export const portgroupResource: Resource<PortgroupRow> = {
  ...portgroupFields,
  noun: 'portgroup',
  named: true,
  table: portgroups,
  description: PortgroupDescription,
  views: { internal_info: () => ({}) },
  duplicates: {
    address: ({ address }) => `A portgroup with MAC address ${address} already exists.`,
    name: ({ name }) => `A portgroup with name ${name} already exists.`,
  },
  admit: async (tx, { before, after, changed, node }) => {
    const isRewired = !before || !after || changed.includes('address') || changed.includes('standalonePortsSupported');
    if (node && isRewired) requireNotInUse(node, 'port group', before ? (after ? 'changed' : 'deleted') : 'created');
    if (!before) return;
    const { uuid, nodeUuid } = before;
    if (!after) await requireNoVif(tx, nodeUuid, uuid);
    const members = (await listNodePorts(tx, nodeUuid)).filter(({ portgroupUuid }) => portgroupUuid === uuid);
    if (!after && members.length > 0) {
      throw new AppError(
        'invalid_argument',
        `Cannot complete the requested action because portgroup ${uuid} contains ports.`,
      );
    }
    const booting = members.filter(({ pxeEnabled }) => pxeEnabled);
    if (!after || after.standalonePortsSupported || booting.length === 0) return;
    throw new AppError(
      'conflict',
      `standalone_ports_supported can not be set to False, because the port group ${uuid} contains ports with ` +
        `pxe_enabled: ${booting.map(({ address }) => address).join(', ')}.`,
    );
  },
};
