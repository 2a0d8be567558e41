import { z } from 'zod';
import { defineFields } from '#conductor/api/define-fields.ts';
import { DeployStep } from '#conductor/api/deploy-templates.ts';
import { json, line, links, time, uuid, whole } from '#conductor/api/values.ts';
import { TraitName } from '#conductor/model/trait-name.ts';

const RunbookStep = DeployStep.omit({ priority: true }).extend({ order: DeployStep.shape.priority });

export const runbookFields = defineFields('runbook', 92, {
  uuid: { type: uuid, listed: true },
  created_at: { type: time },
  updated_at: { type: time.nullable() },
  name: { type: z.string(), write: TraitName, listed: true },
  steps: {
    type: z.array(z.strictObject({ interface: z.string(), step: z.string(), args: json, order: whole })),
    write: z.array(RunbookStep).min(1, 'a runbook has at least one step'),
  },
  disable_ramdisk: { type: z.boolean(), write: z.boolean({ error: 'must be true or false' }).nullish() },
  public: { type: z.boolean(), write: z.boolean({ error: 'must be true or false' }).nullish(), listed: true },
  owner: {
    type: line,
    write: z.string({ error: 'must be text' }).max(255, 'is too long: at most 255 characters').nullish(),
    listed: true,
  },
  extra: { type: json, write: z.record(z.string(), z.unknown(), { error: 'must be a JSON object' }).nullish() },
});

export const Runbook = z
  .strictObject({ ...runbookFields.answered, links })
  .partial()
  .meta({ id: 'Runbook' });

/** What an operator writes: a trait, and what is done to nodes that have it when it is asked for. */
export const RunbookDescription = z.strictObject(runbookFields.written);
