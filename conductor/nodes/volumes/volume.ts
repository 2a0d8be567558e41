import { ConnectorDescription, connectorFields, TargetDescription, targetFields } from '#conductor/api/volumes.ts';
import {
  type VolumeConnectorRow,
  type VolumeTargetRow,
  volumeConnectors,
  volumeTargets,
} from '#conductor/kernel/db/schema/volume.ts';
import { keepMasked, maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import { sealWritten } from '#conductor/kernel/secrets/sealed-document.ts';
import { powerStateAfter } from '#conductor/model/power-states.ts';
import { requireLoginForNewAddress } from '#conductor/nodes/require-login-for-new-address.ts';
import type { Resource, ResourceChange } from '#conductor/nodes/resources/resource.ts';
import { targetPlace } from '#conductor/nodes/volumes/target-secrets.ts';
import { AppError } from '#shared/errors/app-error.ts';

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

/** Ironic's rule: a machine that runs, or is about to, may run from this volume. */
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
