import { and, eq, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type VolumeTargetRow, volumeTargets } from '#conductor/kernel/db/schema/volume.ts';
import { refusingDuplicates } from '#conductor/kernel/db/violated-constraint.ts';
import { type PageRequest, pageOf, sortColumn } from '#conductor/kernel/page-of.ts';
import { ofVisibleNodes } from '#conductor/nodes/node-ownership.ts';
import type { TargetDescription } from '#conductor/nodes/volumes/volume-fields.ts';
import { AppError } from '#shared/errors/app-error.ts';

const sortColumns = {
  uuid: volumeTargets.uuid,
  node_uuid: volumeTargets.nodeUuid,
  volume_type: volumeTargets.volumeType,
  volume_id: volumeTargets.volumeId,
  boot_index: volumeTargets.bootIndex,
  created_at: volumeTargets.createdAt,
  updated_at: volumeTargets.updatedAt,
};

/**
 * One page of targets, of one node or of all.
 * @throws AppError `invalid_argument` for an unknown sort key.
 */
export function listTargets(
  db: Queryable,
  nodeUuid: string | undefined,
  page: PageRequest,
  visibleTo?: string,
): Promise<VolumeTargetRow[]> {
  const { order, after } = pageOf({
    table: sql`${volumeTargets}`,
    uuid: volumeTargets.uuid,
    id: volumeTargets.id,
    sortBy: sortColumn(sortColumns, page.sortKey),
    descending: page.descending,
    marker: page.marker,
  });
  const ofNode = nodeUuid === undefined ? undefined : eq(volumeTargets.nodeUuid, nodeUuid);
  return db
    .select()
    .from(volumeTargets)
    .where(and(ofNode, ofVisibleNodes(db, volumeTargets.nodeUuid, visibleTo), after))
    .orderBy(...order)
    .limit(page.limit);
}

/** The volume that the node boots from, without image and without agent. */
export async function findBootVolume(db: Queryable, nodeUuid: string): Promise<VolumeTargetRow | undefined> {
  const [row] = await db
    .select()
    .from(volumeTargets)
    .where(and(eq(volumeTargets.nodeUuid, nodeUuid), eq(volumeTargets.bootIndex, 0)));
  return row;
}

/** @throws AppError `not_found` in Ironic's words. */
export async function getTarget(db: Queryable, uuid: string): Promise<VolumeTargetRow> {
  const [row] = await db.select().from(volumeTargets).where(eq(volumeTargets.uuid, uuid));
  if (!row) throw new AppError('not_found', `Volume target ${uuid} could not be found.`);
  return row;
}

/** @throws AppError `conflict` when the uuid is another target's, or the boot index one of the same node's. */
export async function insertTarget(
  tx: Transaction,
  identity: { readonly uuid: string; readonly nodeUuid: string },
  description: TargetDescription,
): Promise<VolumeTargetRow> {
  const [row] = await refusingDuplicates(
    () =>
      tx
        .insert(volumeTargets)
        .values({ ...identity, ...columnsOf(description) })
        .returning(),
    duplicate(identity.uuid, description),
  );
  if (!row) throw new AppError('internal', `insert volume target ${identity.uuid}: the database answered no row`);
  return row;
}

/** @throws AppError `conflict` when the boot index is another target's of the same node. */
export async function updateTarget(tx: Transaction, uuid: string, description: TargetDescription): Promise<void> {
  await refusingDuplicates(
    () =>
      tx
        .update(volumeTargets)
        .set({ ...columnsOf(description), updatedAt: sql`now()` })
        .where(eq(volumeTargets.uuid, uuid)),
    duplicate(uuid, description),
  );
}

export async function deleteTarget(tx: Transaction, uuid: string): Promise<void> {
  await tx.delete(volumeTargets).where(eq(volumeTargets.uuid, uuid));
}

function columnsOf({
  volume_type: volumeType,
  volume_id: volumeId,
  boot_index: bootIndex,
  ...more
}: TargetDescription) {
  return { volumeType, volumeId, bootIndex, ...more };
}

function duplicate(uuid: string, { boot_index: bootIndex }: TargetDescription) {
  return (constraint: string): string =>
    constraint.includes('bootIndex')
      ? `A volume target with boot index '${bootIndex}' for the same node already exists.`
      : `A volume target with UUID ${uuid} already exists.`;
}
