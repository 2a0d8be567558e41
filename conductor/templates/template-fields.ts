import { z } from 'zod';
import type { DeployTemplateRow } from '#conductor/kernel/db/schema/deploy-template.ts';
import { maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import type { RequestedStep } from '#conductor/model/planned-step.ts';
import { TraitName } from '#conductor/model/trait-name.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { stepInterfaces } from '#shared/wire/step.ts';

/** Fields of the API's deploy template in the order shown (ironic-api.md §4); all since 1.55. */
export const templateFields = ['uuid', 'created_at', 'updated_at', 'name', 'steps', 'extra'] as const;
export type TemplateField = (typeof templateFields)[number];

export const defaultTemplateListFields = ['uuid', 'name'] as const satisfies readonly TemplateField[];

/** A step as a template or a request for a deploy names it (agent-protocol.md §5.3). */
export const DeployStep = z.strictObject({
  interface: z.enum(stepInterfaces, { error: `must be one of ${stepInterfaces.join(', ')}` }),
  step: z.string().min(1).max(255),
  args: z.record(z.string(), z.unknown(), { error: 'must be a JSON object' }),
  priority: z.union([z.number().int().min(0), z.string().regex(/^\d+$/).transform(Number)], {
    error: 'must be an integer of 0 or more',
  }),
});

/** What an operator writes: a trait, and what a node whose instance has it gets beside the usual steps. */
export const TemplateDescription = z.strictObject({
  name: TraitName,
  steps: z
    .array(DeployStep)
    .min(1, 'a template has at least one step')
    .superRefine((steps, context) => {
      const keys = steps.map((step) => `${step.interface}.${step.step}`);
      const twice = [...new Set(keys.filter((key, index) => keys.indexOf(key) !== index))];
      if (twice.length === 0) return;
      context.addIssue({
        code: 'custom',
        message:
          'Duplicate deploy steps. A deploy template cannot have multiple deploy steps with the same interface and ' +
          `step. Duplicates: ${twice.join(', ')}`,
      });
    }),
  extra: z
    .record(z.string(), z.unknown(), { error: 'must be a JSON object' })
    .nullish()
    .transform((extra) => extra ?? {}),
});
export type TemplateDescription = z.infer<typeof TemplateDescription>;

export interface DeployTemplate extends DeployTemplateRow {
  /** In the order given. */
  readonly steps: readonly RequestedStep[];
}

/** The template as the API shows it, without links. Pure. */
export function viewTemplate(
  template: DeployTemplate,
  fields: readonly TemplateField[] = templateFields,
): Record<string, unknown> {
  const values: Record<TemplateField, unknown> = {
    uuid: template.uuid,
    created_at: apiTime(template.createdAt),
    updated_at: apiTime(template.updatedAt),
    name: template.name,
    steps: template.steps.map((step) => ({ ...step, args: maskDocument(step.args) })),
    extra: template.extra,
  };
  return Object.fromEntries(fields.map((name) => [name, values[name]]));
}
