import { z } from 'zod';
import type { VolumeConnectorRow, VolumeTargetRow } from '#conductor/kernel/db/schema/volume.ts';
import { maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';

/** The API's volume connectors and targets (ironic-api.md §4), all since 1.32: fields in the order shown. */
export const connectorFields = [
  'uuid',
  'created_at',
  'updated_at',
  'node_uuid',
  'type',
  'connector_id',
  'extra',
] as const;
export type ConnectorField = (typeof connectorFields)[number];

export const targetFields = [
  'uuid',
  'created_at',
  'updated_at',
  'node_uuid',
  'volume_type',
  'volume_id',
  'boot_index',
  'properties',
  'extra',
] as const;
export type TargetField = (typeof targetFields)[number];

export const defaultConnectorListFields = [
  'uuid',
  'node_uuid',
  'type',
  'connector_id',
] as const satisfies readonly ConnectorField[];

export const defaultTargetListFields = [
  'uuid',
  'node_uuid',
  'volume_type',
  'boot_index',
  'volume_id',
] as const satisfies readonly TargetField[];

/** What ironicclient offers; the last two name a port of the node whose address counts. */
const connectorTypes = ['iqn', 'ip', 'mac', 'wwnn', 'wwpn', 'port', 'portgroup'] as const;

const line = z.string().min(1).max(255);
const document = z
  .record(z.string(), z.unknown(), { error: 'must be a JSON object' })
  .nullish()
  .transform((value) => value ?? {});

/** How a node reaches remote storage. */
export const ConnectorDescription = z.strictObject({
  type: z.enum(connectorTypes, { error: `must be one of ${connectorTypes.join(', ')}` }),
  connector_id: line,
  extra: document,
});
export type ConnectorDescription = z.infer<typeof ConnectorDescription>;

/** A remote disk of a node. What `properties` must have depends on `volume_type`, and whoever attaches it. */
export const TargetDescription = z.strictObject({
  /** `iscsi`, `fibre_channel` … */
  volume_type: line,
  volume_id: line,
  /** 0 = the node boots from it. */
  boot_index: z.int32({ error: 'must be an integer' }),
  properties: document,
  extra: document,
});
export type TargetDescription = z.infer<typeof TargetDescription>;

export function describeConnector(row: VolumeConnectorRow): Record<keyof ConnectorDescription, unknown> {
  return { type: row.type, connector_id: row.connectorId, extra: row.extra };
}

/** With its secrets, sealed. */
export function describeTarget(row: VolumeTargetRow): Omit<TargetDescription, 'extra'> & { extra: unknown } {
  return {
    volume_type: row.volumeType,
    volume_id: row.volumeId,
    boot_index: row.bootIndex,
    properties: row.properties,
    extra: row.extra,
  };
}

/** The connector as the API shows it, without links. Pure. */
export function viewConnector(
  row: VolumeConnectorRow,
  fields: readonly ConnectorField[] = connectorFields,
): Record<string, unknown> {
  return pick({ ...identity(row), ...describeConnector(row) }, fields);
}

/** The target as the API shows it, its secrets as `******`, without links. Pure. */
export function viewTarget(
  row: VolumeTargetRow,
  fields: readonly TargetField[] = targetFields,
): Record<string, unknown> {
  return pick({ ...identity(row), ...describeTarget(row), properties: maskDocument(row.properties) }, fields);
}

function identity(row: VolumeConnectorRow | VolumeTargetRow) {
  return {
    uuid: row.uuid,
    created_at: apiTime(row.createdAt),
    updated_at: apiTime(row.updatedAt),
    node_uuid: row.nodeUuid,
  };
}

function pick<Field extends string>(values: Record<Field, unknown>, fields: readonly Field[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((name) => [name, values[name]]));
}
