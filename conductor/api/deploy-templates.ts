import { z } from 'zod';
import { defineFields } from '#conductor/api/define-fields.ts';
import { json, links, time, uuid, whole } from '#conductor/api/values.ts';
import { TraitName } from '#conductor/model/trait-name.ts';
import { stepInterfaces } from '#shared/wire/step.ts';

/** A step as a template or a request for a deploy names it (agent-protocol.md §5.3). */
export const DeployStep = z.strictObject({
  interface: z.enum(stepInterfaces, { error: `must be one of ${stepInterfaces.join(', ')}` }),
  step: z.string().min(1).max(255),
  args: z.record(z.string(), z.unknown(), { error: 'must be a JSON object' }),
  priority: z.union([z.number().int().min(0), z.string().regex(/^\d+$/).transform(Number)], {
    error: 'must be an integer of 0 or more',
  }),
});

const steps = z
  .array(DeployStep)
  .min(1, 'a template has at least one step')
  .superRefine((given, context) => {
    const keys = given.map((step) => `${step.interface}.${step.step}`);
    const twice = [...new Set(keys.filter((key, index) => keys.indexOf(key) !== index))];
    if (twice.length === 0) return;
    context.addIssue({
      code: 'custom',
      message:
        'Duplicate deploy steps. A deploy template cannot have multiple deploy steps with the same interface and ' +
        `step. Duplicates: ${twice.join(', ')}`,
    });
  });

export const templateFields = defineFields('deploy template', 55, {
  uuid: { type: uuid, listed: true },
  created_at: { type: time },
  updated_at: { type: time.nullable() },
  name: { type: z.string(), write: TraitName, listed: true },
  steps: {
    type: z.array(z.strictObject({ interface: z.string(), step: z.string(), args: json, priority: whole })),
    write: steps,
  },
  extra: {
    type: json,
    write: z.record(z.string(), z.unknown(), { error: 'must be a JSON object' }).nullish(),
  },
});

export const DeployTemplate = z
  .strictObject({ ...templateFields.answered, links })
  .partial()
  .meta({ id: 'DeployTemplate' });

/** What an operator writes: a trait, and what a node whose instance has it gets beside the usual steps. */
export const TemplateDescription = z.strictObject(templateFields.written);
