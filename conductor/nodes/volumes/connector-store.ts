import { and, eq, sql } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import { type VolumeConnectorRow, volumeConnectors } from '#conductor/kernel/db/schema/volume.ts';
import { refusingDuplicates } from '#conductor/kernel/db/violated-constraint.ts';
import { type PageRequest, pageOf, sortColumn } from '#conductor/kernel/page-of.ts';
import { ofVisibleNodes } from '#conductor/nodes/node-ownership.ts';
import type { ConnectorDescription } from '#conductor/nodes/volumes/volume-fields.ts';
import { AppError } from '#shared/errors/app-error.ts';

const sortColumns = {
  uuid: volumeConnectors.uuid,
  node_uuid: volumeConnectors.nodeUuid,
  type: volumeConnectors.type,
  connector_id: volumeConnectors.connectorId,
  created_at: volumeConnectors.createdAt,
  updated_at: volumeConnectors.updatedAt,
};

/**
 * One page of connectors, of one node or of all.
 * @throws AppError `invalid_argument` for an unknown sort key.
 */
export function listConnectors(
  db: Queryable,
  nodeUuid: string | undefined,
  page: PageRequest,
  visibleTo?: string,
): Promise<VolumeConnectorRow[]> {
  const { order, after } = pageOf({
    table: sql`${volumeConnectors}`,
    uuid: volumeConnectors.uuid,
    id: volumeConnectors.id,
    sortBy: sortColumn(sortColumns, page.sortKey),
    descending: page.descending,
    marker: page.marker,
  });
  const ofNode = nodeUuid === undefined ? undefined : eq(volumeConnectors.nodeUuid, nodeUuid);
  return db
    .select()
    .from(volumeConnectors)
    .where(and(ofNode, ofVisibleNodes(db, volumeConnectors.nodeUuid, visibleTo), after))
    .orderBy(...order)
    .limit(page.limit);
}

/** @throws AppError `not_found` in Ironic's words. */
export async function getConnector(db: Queryable, uuid: string): Promise<VolumeConnectorRow> {
  const [row] = await db.select().from(volumeConnectors).where(eq(volumeConnectors.uuid, uuid));
  if (!row) throw new AppError('not_found', `Volume connector ${uuid} could not be found.`);
  return row;
}

/** @throws AppError `conflict` when the uuid, or type and id, are another connector's. */
export async function insertConnector(
  tx: Transaction,
  identity: { readonly uuid: string; readonly nodeUuid: string },
  description: ConnectorDescription,
): Promise<VolumeConnectorRow> {
  const [row] = await refusingDuplicates(
    () =>
      tx
        .insert(volumeConnectors)
        .values({ ...identity, ...columnsOf(description) })
        .returning(),
    duplicate(identity.uuid, description),
  );
  if (!row) throw new AppError('internal', `insert volume connector ${identity.uuid}: the database answered no row`);
  return row;
}

/** @throws AppError `conflict` when type and id are another connector's. */
export async function updateConnector(tx: Transaction, uuid: string, description: ConnectorDescription): Promise<void> {
  await refusingDuplicates(
    () =>
      tx
        .update(volumeConnectors)
        .set({ ...columnsOf(description), updatedAt: sql`now()` })
        .where(eq(volumeConnectors.uuid, uuid)),
    duplicate(uuid, description),
  );
}

export async function deleteConnector(tx: Transaction, uuid: string): Promise<void> {
  await tx.delete(volumeConnectors).where(eq(volumeConnectors.uuid, uuid));
}

function columnsOf({ type, connector_id: connectorId, extra }: ConnectorDescription) {
  return { type, connectorId, extra };
}

function duplicate(uuid: string, { type, connector_id: connectorId }: ConnectorDescription) {
  return (constraint: string): string =>
    constraint.includes('connectorId')
      ? `A volume connector with type ${type} and connector ID ${connectorId} already exists.`
      : `A volume connector with UUID ${uuid} already exists.`;
}

/** All of one node. */
export function listNodeConnectors(db: Queryable, nodeUuid: string): Promise<VolumeConnectorRow[]> {
  return db.select().from(volumeConnectors).where(eq(volumeConnectors.nodeUuid, nodeUuid)).orderBy(volumeConnectors.id);
}
