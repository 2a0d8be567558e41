import { PortDescription, PortgroupDescription, portFields, portgroupFields } from '#conductor/api/ports.ts';
import { accessDenied } from '#conductor/kernel/caller.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import { type PortgroupRow, type PortRow, portgroups, ports } from '#conductor/kernel/db/schema/port.ts';
import { requireNotInUse } from '#conductor/nodes/node-guards.ts';
import { findPortAtSwitchPort, listNodePorts, requireNoVif } from '#conductor/nodes/ports/port-store.ts';
import type { Resource, ResourceChange } from '#conductor/nodes/resources/resource.ts';
import { findRow } from '#conductor/nodes/resources/resource-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Fields that say how the machine is connected. */
const rewiring = ['address', 'localLinkConnection', 'pxeEnabled', 'portgroupUuid'];

/**
 * Fields that say which switch ports the machine is connected to. A project that could write them could name the switch port
 * of another project's machine, and have it moved to its own network.
 */
const wiring = { local_link_connection: 'localLinkConnection', physical_network: 'physicalNetwork' };

type PortChange = ResourceChange<PortRow>;

export const portResource: Resource<PortRow> = {
  ...portFields,
  table: ports,
  description: PortDescription,
  label: 'address',
  views: { internal_info: () => ({}) },
  duplicates: {
    address: ({ address }) => `A port with MAC address ${address} already exists.`,
    one_port_per_switch_port: () => 'local_link_connection: another port is at this switch_id and port_id already.',
    name: ({ name }) => `A port with name ${name} already exists.`,
  },
  admit: async (tx, change) => {
    const { before, after, changed, node } = change;
    requireWiringRights(change, 'port');
    const isRewired = !before || !after || rewiring.some((column) => changed.includes(column));
    if (node && isRewired) requireNotInUse(node, 'port', before ? (after ? 'changed' : 'deleted') : 'created');
    if (before?.uuid && (!after || changed.includes('portgroupUuid')))
      await requireNoVif(tx, before.nodeUuid, before.uuid);
    if (!after) return;
    if (changed.includes('localLinkConnection')) await requireOwnSwitchPort(tx, after);
    await checkMembership(tx, { pxeEnabled: true, physicalNetwork: null, ...after });
  },
};

/** @throws AppError `forbidden` for a caller of a project that writes one of the `wiring` fields. */
function requireWiringRights(
  { before, changed, caller }: Pick<PortChange, 'changed' | 'caller'> & { readonly before?: unknown },
  noun: 'port' | 'portgroup',
): void {
  if (caller.project === undefined) return;
  const field = Object.entries(wiring).find(([, column]) => changed.includes(column))?.[0];
  if (field === undefined) return;
  throw accessDenied(`baremetal:${noun}:${before ? 'update' : 'create'}:${field}`, caller, undefined);
}

async function requireOwnSwitchPort(tx: Transaction, { localLinkConnection = {}, uuid }: Partial<PortRow>) {
  const other = await findPortAtSwitchPort(tx, localLinkConnection, uuid);
  if (!other) return;
  throw new AppError(
    'conflict',
    `local_link_connection: port ${other.uuid} (${other.address}) of node ${other.nodeUuid} is at this switch_id and ` +
      'port_id already.',
  );
}

/**
 * Returns whether a port may be in its port group (Ironic's rules).
 * @throws AppError `invalid_argument` for a group that is not there or another node's, `conflict` for a port that boots
 * from the network in a group whose members may not stand alone, or that is on another physical network than they.
 */
async function checkMembership(tx: Transaction, port: Partial<PortRow>): Promise<void> {
  const { portgroupUuid, nodeUuid } = port;
  if (!portgroupUuid || nodeUuid === undefined) return;
  const portgroup = await findRow(tx, portgroupResource, portgroupUuid);
  // one text, Ironic's: it must not show whether another project has such a group
  if (portgroup?.nodeUuid !== nodeUuid) {
    throw new AppError('invalid_argument', `Portgroup ${portgroupUuid} could not be found.`);
  }
  if (port.pxeEnabled && !portgroup.standalonePortsSupported) {
    throw new AppError(
      'conflict',
      `Port group ${portgroupUuid} doesn't support standalone ports: port ${port.address} cannot be its member with ` +
        'pxe_enabled true.',
    );
  }
  const { physicalNetwork: ofGroup } = portgroup;
  if (ofGroup !== null && port.physicalNetwork && port.physicalNetwork !== ofGroup) {
    throw new AppError(
      'conflict',
      `physical_network: port ${port.address} on '${port.physicalNetwork}' cannot be in port group ${portgroupUuid} on '${ofGroup}'.`,
    );
  }
  const others = (await listNodePorts(tx, nodeUuid)).filter(
    (each) => each.portgroupUuid === portgroupUuid && each.uuid !== port.uuid,
  );
  const stranger = others.find((each) => each.physicalNetwork !== port.physicalNetwork);
  if (!stranger) return;
  throw new AppError(
    'conflict',
    `physical_network: port ${port.address} on '${port.physicalNetwork ?? 'none'}' cannot be in port group ` +
      `${portgroupUuid}, whose port ${stranger.address} is on '${stranger.physicalNetwork ?? 'none'}'.`,
  );
}

/** @throws AppError `conflict` naming the members of the group that are on another physical network than the group is to be. */
function requireSamePhysicalNetwork(after: Partial<PortgroupRow> | undefined, members: readonly PortRow[]): void {
  const wanted = after?.physicalNetwork;
  const strangers = members.filter((each) => wanted && each.physicalNetwork && each.physicalNetwork !== wanted);
  if (strangers.length === 0) return;
  const named = strangers.map(({ address, physicalNetwork }) => `${address} on '${physicalNetwork}'`).join(', ');
  throw new AppError(
    'conflict',
    `physical_network: port group ${after?.uuid} can't be on '${wanted}', it has ports ${named}.`,
  );
}

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
  admit: async (tx, { before, after, changed, node, caller }) => {
    requireWiringRights({ before, changed, caller }, 'portgroup');
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
    requireSamePhysicalNetwork(after, members);
    const booting = members.filter(({ pxeEnabled }) => pxeEnabled);
    if (!after || after.standalonePortsSupported || booting.length === 0) return;
    throw new AppError(
      'conflict',
      `standalone_ports_supported can not be set to False, because the port group ${uuid} contains ports with ` +
        `pxe_enabled: ${booting.map(({ address }) => address).join(', ')}.`,
    );
  },
};
