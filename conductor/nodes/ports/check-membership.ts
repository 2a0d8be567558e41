import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { listNodePorts } from '#conductor/nodes/ports/port-store.ts';
import { findPortgroup } from '#conductor/nodes/ports/portgroup-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * Whether a port may be in its port group (Ironic's rules).
 * @throws AppError `invalid_argument` for a group that is not there or another node's, `conflict` for a port that boots
 * from the network in a group whose members may not stand alone, or that is on another physical network than they.
 */
export async function checkMembership(
  tx: Transaction,
  port: Pick<PortRow, 'uuid' | 'nodeUuid' | 'address' | 'portgroupUuid' | 'pxeEnabled' | 'physicalNetwork'>,
): Promise<void> {
  const { portgroupUuid } = port;
  if (portgroupUuid === null) return;
  const portgroup = await findPortgroup(tx, portgroupUuid);
  // one text, Ironic's: whether another project has such a group is nobody's business
  if (!portgroup || portgroup.nodeUuid !== port.nodeUuid) {
    throw new AppError('invalid_argument', `Portgroup ${portgroupUuid} could not be found.`);
  }
  if (port.pxeEnabled && !portgroup.standalonePortsSupported) {
    throw new AppError(
      'conflict',
      `Port group ${portgroupUuid} doesn't support standalone ports: port ${port.address} cannot be its member with ` +
        'pxe_enabled true.',
    );
  }
  const others = (await listNodePorts(tx, port.nodeUuid)).filter(
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
