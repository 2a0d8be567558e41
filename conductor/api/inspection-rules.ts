import { z } from 'zod';
import { defineFields } from '#conductor/api/define-fields.ts';
import { json, line, links, time, uuid, whole } from '#conductor/api/values.ts';

const given = z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())], {
  error: 'must be an object or a list',
});
const call = {
  op: z.string({ error: 'must be the name of an operation' }),
  args: given.optional(),
  loop: given.optional(),
};
const multiple = ['any', 'all', 'first', 'last'] as const;
const Condition = z.strictObject({
  ...call,
  multiple: z.enum(multiple, { error: `must be ${multiple.join(', ')}` }).optional(),
});
const shown = z.array(json).nullable();

export const ruleFields = defineFields('inspection rule', 96, {
  uuid: { type: uuid, listed: true },
  created_at: { type: time },
  updated_at: { type: time.nullable() },
  description: {
    type: line,
    write: z.string({ error: 'must be text' }).max(255, 'is too long: at most 255 characters').nullish(),
    listed: true,
  },
  phase: { type: line, write: z.literal('main', { error: 'must be main' }).nullish(), listed: true },
  priority: {
    type: whole,
    write: z.int({ error: 'must be an integer from 0 to 9999' }).min(0).max(9999).nullish(),
    listed: true,
  },
  scope: { type: line, write: z.null({ error: 'is not supported: must be null' }).optional() },
  sensitive: {
    type: z.boolean(),
    write: z.boolean({ error: 'must be true or false' }).nullish(),
  },
  conditions: { type: shown, write: z.array(Condition, { error: 'must be a list' }).nullish() },
  actions: { type: shown, write: z.array(z.strictObject(call), { error: 'must be a list' }) },
});

export const InspectionRule = z
  .strictObject({ ...ruleFields.answered, links })
  .partial()
  .meta({ id: 'InspectionRule' });

/** What an operator writes: when it holds, and what of the node is changed then. */
export const RuleDescription = z.strictObject(ruleFields.written);
