import { z } from 'zod';
import { jsonDocument } from '#conductor/api/node-description.ts';
import {
  answerOf,
  defineFields,
  json,
  largestInteger,
  links,
  nullableText,
  time,
  uuid,
  wholeFrom,
  wholeNumber,
} from '#conductor/api/values.ts';

export const chassisFields = defineFields('chassis', 1, {
  uuid: { type: uuid, listed: true },
  created_at: { type: time },
  updated_at: { type: time.nullable() },
  description: { type: nullableText, write: z.string().max(255).nullish(), listed: true },
  extra: { type: json, write: jsonDocument.nullish() },
});

export const Chassis = answerOf('Chassis', { ...chassisFields.answered, nodes: links });

/** Description of a chassis that an operator may write; absent keys have their defaults. */
export const ChassisDescription = z.strictObject(chassisFields.written);

/** Types that ironicclient offers; the last two name a port of the node whose address counts. */
const connectorTypes = ['iqn', 'ip', 'mac', 'wwnn', 'wwpn', 'port', 'portgroup'] as const;

const since = 32;
const text = z.string().min(1).max(255);
const document = z
  .record(z.string(), z.unknown(), { error: 'must be a JSON object' })
  .nullish()
  .transform((value) => value ?? {});

const identity = {
  uuid: { type: uuid, listed: true as const },
  created_at: { type: time },
  updated_at: { type: time.nullable() },
  node_uuid: { type: uuid, listed: true as const },
};

export const connectorFields = defineFields('volume connector', since, {
  ...identity,
  type: {
    type: z.string(),
    write: z.enum(connectorTypes, { error: `must be one of ${connectorTypes.join(', ')}` }),
    listed: true,
  },
  connector_id: { type: z.string(), write: text, listed: true },
  extra: { type: json, write: document },
});

/** `boot_index` 0 is what the node boots from; what `properties` must have depends on `volume_type`. */
export const targetFields = defineFields('volume target', since, {
  ...identity,
  /** `iscsi`, `fibre_channel` … */
  volume_type: { type: z.string(), write: text, listed: true },
  volume_id: { type: z.string(), write: text, listed: true },
  boot_index: {
    type: wholeNumber,
    write: wholeFrom(-largestInteger, 'must be an integer from -2147483647 to 2147483647'),
    listed: true,
  },
  properties: { type: json, write: document },
  extra: { type: json, write: document },
});

export const VolumeConnector = answerOf('VolumeConnector', connectorFields.answered);
export const VolumeTarget = answerOf('VolumeTarget', targetFields.answered);
export const VolumeIndex = z.strictObject({ links, connectors: links, targets: links });

/** How a node reaches remote storage. */
export const ConnectorDescription = z.strictObject(connectorFields.written);
/** A remote disk of a node. */
export const TargetDescription = z.strictObject(targetFields.written);
