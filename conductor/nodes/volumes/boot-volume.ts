import { z } from 'zod';
import type { BootVolume } from '#conductor/boot/ipxe-script.ts';
import type { VolumeConnectorRow, VolumeTargetRow } from '#conductor/kernel/db/schema/volume.ts';
import { AppError } from '#shared/errors/app-error.ts';

const word = (what: string) => z.string().regex(/^[^\s${}]+$/, `must be ${what}, without blanks, $ and braces`);

/** Ironic's properties of an iSCSI target (as cinder's connection information has them). */
const IscsiTarget = z.looseObject({
  target_portal: z.string().regex(/^(\[[0-9a-f:]+\]|[^\s:${}]+)(:\d+)?$/i, 'must be address:port'),
  target_iqn: word('an iSCSI name'),
  target_lun: z.coerce.number().int().min(0, 'must be a number from 0').default(0),
  auth_username: word('text').optional(),
  auth_password: word('text').optional(),
});

const iscsiPort = 3260;

/**
 * What a node with this volume at boot index 0 boots from.
 * @throws AppError `invalid_argument` naming the property, `not_supported` for volumes that only an adapter of the
 * machine can boot from.
 */
export function bootVolume(target: VolumeTargetRow, connectors: readonly VolumeConnectorRow[]): BootVolume {
  if (target.volumeType !== 'iscsi') {
    throw new AppError(
      'not_supported',
      `volume target ${target.uuid}: boot from ${target.volumeType}; iscsi is what iPXE boots`,
    );
  }
  const parsed = IscsiTarget.safeParse(target.properties);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => `properties.${issue.path.join('.')}: ${issue.message}`);
    throw new AppError('invalid_argument', `volume target ${target.uuid}: ${faults.join('; ')}`);
  }
  const { target_portal: portal, target_iqn: iqn, target_lun: lun, auth_username, auth_password } = parsed.data;
  const [, address, port] = /^(\[.*\]|[^:]+)(?::(\d+))?$/.exec(portal) ?? [];
  return {
    sanUri: `iscsi:${address}::${port ?? iscsiPort}:${lun.toString(16)}:${iqn}`,
    initiatorIqn: connectors.find((connector) => connector.type === 'iqn')?.connectorId,
    username: auth_username,
    password: auth_password,
  };
}
