import { z } from 'zod';
import { defineFields } from '#conductor/api/define-fields.ts';
import { jsonDocument } from '#conductor/api/node-description.ts';
import { json, line, links, time, uuid } from '#conductor/api/values.ts';

export const chassisFields = defineFields('chassis', 1, {
  uuid: { type: uuid, listed: true },
  created_at: { type: time },
  updated_at: { type: time.nullable() },
  description: { type: line, write: z.string().max(255).nullish(), listed: true },
  extra: { type: json, write: jsonDocument.nullish() },
});

export const Chassis = z
  .strictObject({ ...chassisFields.answered, links, nodes: links })
  .partial()
  .meta({ id: 'Chassis' });

/** What an operator may write about a chassis; what is absent has its default. */
export const ChassisDescription = z.strictObject(chassisFields.written);
