import { randomUUID } from 'node:crypto';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { VolumeConnectorRow, VolumeTargetRow } from '#conductor/kernel/db/schema/volume.ts';
import { type JsonPatch, patchDocument } from '#conductor/kernel/json-patch.ts';
import { keepMasked } from '#conductor/kernel/secrets/mask-document.ts';
import { sealWritten } from '#conductor/kernel/secrets/sealed-document.ts';
import { type ChangeNote, changeNote, describePatch } from '#conductor/nodes/change-note.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import type { NodesContext } from '#conductor/nodes/context.ts';
import { refuseMovedLogin } from '#conductor/nodes/refuse-moved-login.ts';
import {
  deleteConnector,
  getConnector,
  insertConnector,
  updateConnector,
} from '#conductor/nodes/volumes/connector-store.ts';
import { targetPlace } from '#conductor/nodes/volumes/target-secrets.ts';
import { deleteTarget, getTarget, insertTarget, updateTarget } from '#conductor/nodes/volumes/target-store.ts';
import {
  ConnectorDescription,
  describeConnector,
  describeTarget,
  TargetDescription,
} from '#conductor/nodes/volumes/volume-fields.ts';
import { AppError } from '#shared/errors/app-error.ts';

type VolumeContext = Pick<NodesContext, 'db' | 'clock' | 'secrets' | 'config'>;

/** @throws AppError `conflict` for a duplicate, `node_locked`. */
export function createConnector(
  context: VolumeContext,
  nodeUuid: string,
  description: ConnectorDescription,
  { uuid = randomUUID(), caller }: { readonly uuid: string | undefined; readonly caller: Caller },
): Promise<VolumeConnectorRow> {
  return changeUnlocked(
    context,
    nodeUuid,
    (tx) => insertConnector(tx, { uuid, nodeUuid }, description),
    changeNote(context, caller, `volume connector ${uuid} created`),
  );
}

/** @throws AppError `conflict` for a duplicate, `node_locked`. */
export function createTarget(
  context: VolumeContext,
  nodeUuid: string,
  description: TargetDescription,
  { uuid = randomUUID(), caller }: { readonly uuid: string | undefined; readonly caller: Caller },
): Promise<VolumeTargetRow> {
  return changeUnlocked(
    context,
    nodeUuid,
    async (tx) => {
      const properties = sealWritten(context.secrets, description.properties, targetPlace(uuid));
      return insertTarget(tx, { uuid, nodeUuid }, { ...description, properties });
    },
    changeNote(context, caller, `volume target ${uuid} created`),
  );
}

/** @throws AppError `invalid_argument` naming the field, or while the node is on, `conflict` for a duplicate. */
export function changeConnector(
  context: VolumeContext,
  uuid: string,
  patch: JsonPatch,
  caller: Caller,
): Promise<VolumeConnectorRow> {
  return whileOff(
    context,
    getConnector,
    {
      uuid,
      action: 'volume connector update',
      note: changeNote(context, caller, `volume connector ${uuid}: ${describePatch(patch)}`),
    },
    async (tx, row) => {
      await updateConnector(tx, uuid, patchDocument(describeConnector(row), patch, ConnectorDescription));
      return getConnector(tx, uuid);
    },
  );
}

/** @throws AppError `invalid_argument` naming the field, or while the node is on, `conflict` for a duplicate. */
export function changeTarget(
  context: VolumeContext,
  uuid: string,
  patch: JsonPatch,
  caller: Caller,
): Promise<VolumeTargetRow> {
  return whileOff(
    context,
    getTarget,
    {
      uuid,
      action: 'volume target update',
      note: changeNote(context, caller, `volume target ${uuid}: ${describePatch(patch)}`),
    },
    async (tx, row) => {
      const before = describeTarget(row);
      const after = patchDocument(before, patch, TargetDescription);
      const kept = keepMasked(after.properties, before.properties);
      refuseMovedLogin('properties', kept, before.properties);
      const properties = sealWritten(context.secrets, kept, targetPlace(uuid), { before: before.properties });
      await updateTarget(tx, uuid, { ...after, properties });
      return getTarget(tx, uuid);
    },
  );
}

/** @throws AppError `invalid_argument` while the node is on, `node_locked`. */
export function removeConnector(context: VolumeContext, uuid: string, caller: Caller): Promise<void> {
  return whileOff(
    context,
    getConnector,
    {
      uuid,
      action: 'volume connector deletion',
      note: changeNote(context, caller, `volume connector ${uuid} deleted`),
    },
    (tx) => deleteConnector(tx, uuid),
  );
}

/** @throws AppError `invalid_argument` while the node is on, `node_locked`. */
export function removeTarget(context: VolumeContext, uuid: string, caller: Caller): Promise<void> {
  return whileOff(
    context,
    getTarget,
    {
      uuid,
      action: 'volume target deletion',
      note: changeNote(context, caller, `volume target ${uuid} deleted`),
    },
    (tx) => deleteTarget(tx, uuid),
  );
}

async function whileOff<Row extends { readonly nodeUuid: string }, Result>(
  context: VolumeContext,
  get: (db: Queryable, uuid: string) => Promise<Row>,
  { uuid, action, note }: { readonly uuid: string; readonly action: string; readonly note: ChangeNote },
  act: (tx: Transaction, row: Row) => Promise<Result>,
): Promise<Result> {
  const { nodeUuid } = await get(context.db, uuid);
  return changeUnlocked(
    context,
    nodeUuid,
    async (tx, node) => {
      refusePoweredOn(node, action);
      return act(tx, await get(tx, uuid));
    },
    note,
  );
}

/** Ironic's rule: a machine that runs may run from this volume. */
function refusePoweredOn(node: NodeRow, action: string): void {
  if (node.powerState !== 'power on') return;
  throw new AppError(
    'invalid_argument',
    `The requested action "${action}" can not be performed on node "${node.uuid}" while it is in state "power on".`,
  );
}
