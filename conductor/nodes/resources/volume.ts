import { z } from 'zod';
import { ConnectorDescription, connectorFields, TargetDescription, targetFields } from '#conductor/api/volumes.ts';
import type { BootVolume } from '#conductor/boot/ipxe-script.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { rowsBy } from '#conductor/kernel/db/query/table-reader.ts';
import {
  type VolumeConnectorRow,
  type VolumeTargetRow,
  volumeConnectors,
  volumeTargets,
} from '#conductor/kernel/db/schema/volume.ts';
import { keepMasked, maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import { type DocumentPlace, openDocument, sealWritten } from '#conductor/kernel/secrets/sealed-document.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { powerStateAfter } from '#conductor/model/power-and-boot.ts';
import { requireLoginForNewAddress } from '#conductor/nodes/driver-info.ts';
import type { Resource, ResourceChange } from '#conductor/nodes/resources/resource.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';

export function targetPlace(targetUuid: string): DocumentPlace {
  return `volume target ${targetUuid} properties`;
}

/**
 * Opens a target, with its CHAP password in clear.
 * @throws AppError `invalid_argument` naming the property, and the key that is missing.
 */
export function openTarget(secrets: Secrets, target: VolumeTargetRow): VolumeTargetRow {
  return { ...target, properties: openDocument(secrets, target.properties, targetPlace(target.uuid)) };
}

export const connectorResource: Resource<VolumeConnectorRow> = {
  ...connectorFields,
  detailSince: connectorFields.since,
  table: volumeConnectors,
  description: ConnectorDescription,
  duplicates: {
    connectorId: ({ type, connectorId }) =>
      `A volume connector with type ${type} and connector ID ${connectorId} already exists.`,
  },
  admit: (_, change) => requirePoweredOff(connectorFields.what, change),
};

export const targetResource: Resource<VolumeTargetRow> = {
  ...targetFields,
  detailSince: targetFields.since,
  table: volumeTargets,
  description: TargetDescription,
  duplicates: {
    bootIndex: ({ bootIndex }) => `A volume target with boot index '${bootIndex}' for the same node already exists.`,
  },
  views: { properties: ({ properties }) => maskDocument(properties) },
  admit: (_, change) => requirePoweredOff(targetFields.what, change),
  seal: (secrets, { uuid, properties = {} }, before) => {
    if (!before) return { properties: sealWritten(secrets, properties, targetPlace(uuid ?? '')) };
    const kept = keepMasked(properties, before.properties);
    requireLoginForNewAddress('properties', kept, before.properties);
    return { properties: sealWritten(secrets, kept, targetPlace(before.uuid), { before: before.properties }) };
  },
};

/** Refuses a machine that runs, or is about to, which may run from this volume (Ironic's rule). */
function requirePoweredOff(what: string, { before, after, node }: ResourceChange<unknown>): void {
  if (!before || !node) return;
  const { powerState, targetPowerState: target } = node;
  if (powerState !== 'power on' && (target === null || powerStateAfter(target) === 'power off')) return;
  throw new AppError(
    'invalid_argument',
    `The requested action "${what} ${after ? 'update' : 'deletion'}" can not be performed on node "${node.uuid}" while ` +
      'it is in state "power on".',
  );
}

/** Finds the volume that the node boots from, without image and without agent. */
export async function findBootVolume(db: Queryable, nodeUuid: string): Promise<VolumeTargetRow | undefined> {
  return (await listNodeTargets(db, nodeUuid)).find(({ bootIndex }) => bootIndex === 0);
}

const listNodeTargets = rowsBy(volumeTargets, 'nodeUuid', 'id');
export const listNodeConnectors = rowsBy(volumeConnectors, 'nodeUuid', 'id');

const word = (what: string) => z.string().regex(/^[^\s${}]+$/, `must be ${what}, without blanks, $ and braces`);

/** Ironic's properties of an iSCSI target (as cinder's connection information has them). */
const IscsiTarget = z.object({
  properties: z.looseObject({
    target_portal: z.string().regex(/^(\[[0-9a-f:]+\]|[^\s:${}]+)(:\d+)?$/i, 'must be address:port'),
    target_iqn: word('an iSCSI name'),
    target_lun: z.coerce.number().int().min(0, 'must be a number from 0').default(0),
    auth_username: word('text').optional(),
    auth_password: word('text').optional(),
  }),
});

const iscsiPort = 3260;

/**
 * Finds what a node with this volume at boot index 0 boots from.
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
  const parsed = IscsiTarget.safeParse(target);
  if (!parsed.success) {
    throw new AppError('invalid_argument', `volume target ${target.uuid}: ${describeIssues(parsed.error)}`);
  }
  const {
    target_portal: portal,
    target_iqn: iqn,
    target_lun: lun,
    auth_username,
    auth_password,
  } = parsed.data.properties;
  const [, address, port] = /^(\[.*\]|[^:]+)(?::(\d+))?$/.exec(portal) ?? [];
  return {
    sanUri: `iscsi:${address}::${port ?? iscsiPort}:${lun.toString(16)}:${iqn}`,
    initiatorIqn: connectors.find((connector) => connector.type === 'iqn')?.connectorId,
    username: auth_username,
    password: auth_password,
  };
}
