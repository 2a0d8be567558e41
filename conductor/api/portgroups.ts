import { z } from 'zod';
import { defineFields } from '#conductor/api/define-fields.ts';
import { jsonDocument, looseBoolean } from '#conductor/api/node-description.ts';
import { macAddress } from '#conductor/api/ports.ts';
import { json, line, links, time, uuid } from '#conductor/api/values.ts';

/** Linux's bonding modes; the number of each is its place. */
const bondingModes = [
  'balance-rr',
  'active-backup',
  'balance-xor',
  'broadcast',
  '802.3ad',
  'balance-tlb',
  'balance-alb',
] as const;

const mode = z.string().refine((text) => bondingModes.some((name, place) => text === name || text === String(place)), {
  error: `must be one of ${bondingModes.join(', ')}, or a number from 0 to ${bondingModes.length - 1}`,
});

const name = z
  .string()
  .regex(/^[\w.~-]{1,255}$/, 'must be 1 to 255 letters, digits and - . _ ~')
  .refine((text) => !z.guid().safeParse(text).success && text !== 'detail', 'must not look like a UUID or be `detail`')
  .nullish();

export const portgroupFields = defineFields('port group', 23, {
  uuid: { type: uuid, listed: true },
  created_at: { type: time },
  updated_at: { type: time.nullable() },
  address: { type: line, write: macAddress.nullish(), listed: true },
  extra: { type: json, write: jsonDocument.nullish() },
  internal_info: { type: json },
  mode: { type: z.string(), write: mode.default('active-backup'), since: 26 },
  name: { type: line, write: name, listed: true },
  properties: { type: json, write: jsonDocument.nullish(), since: 26 },
  standalone_ports_supported: { type: z.boolean(), write: looseBoolean.nullish() },
  node_uuid: { type: uuid },
});

export const Portgroup = z
  .strictObject({ ...portgroupFields.answered, links, ports: links })
  .partial()
  .meta({ id: 'Portgroup' });

/** What an operator may write about a port group; what is absent has its default. */
export const PortgroupDescription = z.strictObject(portgroupFields.written);
