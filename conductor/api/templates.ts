import { z } from 'zod';
import { line } from '#conductor/api/node-description.ts';
import {
  type Answer,
  answerOf,
  defineFields,
  json,
  mostListed,
  nullableText,
  time,
  uuid,
  wholeFrom,
  wholeNumber,
} from '#conductor/api/values.ts';
import { TraitName } from '#conductor/model/trait-name.ts';
import { boundedList } from '#shared/bounded-list.ts';
import { stepInterfaces } from '#shared/wire/step.ts';

const placeRule = 'must be an integer from 0 to 2147483647';
/** Place of a step among others. */
export const placeField = wholeFrom(0, placeRule);

/** A step as a template or a request for a deploy names it (agent-protocol.md §5.3). */
export const DeployStep = z.strictObject({
  interface: z.enum(stepInterfaces, { error: `must be one of ${stepInterfaces.join(', ')}` }),
  step: z.string().min(1).max(255),
  args: z.record(z.string(), z.unknown(), {
    error: ({ input }) => (input === undefined ? 'is missing: {} for none' : 'must be a JSON object'),
  }),
  priority: z.union([placeField, z.string().regex(/^\d+$/).transform(Number).pipe(placeField)], { error: placeRule }),
});

const steps = boundedList(z.array(DeployStep).min(1, 'a template has at least one step'), mostListed).superRefine(
  (given, context) => {
    const keys = given.map((step) => `${step.interface}.${step.step}`);
    const twice = [...new Set(keys.filter((key, index) => keys.indexOf(key) !== index))];
    if (twice.length === 0) return;
    context.addIssue({
      code: 'custom',
      message:
        'Duplicate deploy steps. A deploy template cannot have multiple deploy steps with the same interface and ' +
        `step. Duplicates: ${twice.join(', ')}`,
    });
  },
);

export const templateFields = defineFields('deploy template', 55, {
  uuid: { type: uuid, listed: true },
  created_at: { type: time },
  updated_at: { type: time.nullable() },
  name: { type: z.string(), write: TraitName, listed: true },
  steps: {
    type: z.array(z.strictObject({ interface: z.string(), step: z.string(), args: json, priority: wholeNumber })),
    write: steps,
  },
  extra: {
    type: json,
    write: z.record(z.string(), z.unknown(), { error: 'must be a JSON object' }).nullish(),
  },
});

export const DeployTemplate = answerOf('DeployTemplate', templateFields.answered);
export type DeployTemplateAnswer = Answer<typeof DeployTemplate>;

/** Description of a template: a trait, and what a node whose instance has it gets beside the usual steps. */
export const TemplateDescription = z.strictObject(templateFields.written);

const RunbookStep = DeployStep.omit({ priority: true }).extend({ order: DeployStep.shape.priority });

/** Name of a runbook; before 1.112 the route requires that it is a trait. */
const RunbookName = z
  .string({ error: 'must be text' })
  .regex(/^[\w.~-]{1,255}$/, 'must be 1 to 255 letters, digits and - . _ ~')
  .refine((name) => !z.guid().safeParse(name).success, 'must not look like a UUID');

export const runbookFields = defineFields('runbook', 92, {
  uuid: { type: uuid, listed: true },
  created_at: { type: time },
  updated_at: { type: time.nullable() },
  name: { type: z.string(), write: RunbookName, listed: true },
  description: {
    type: nullableText,
    write: line.optional(),
    since: 112,
  },
  traits: { type: z.array(z.string()), since: 112 },
  steps: {
    type: z.array(z.strictObject({ interface: z.string(), step: z.string(), args: json, order: wholeNumber })),
    write: boundedList(z.array(RunbookStep).min(1, 'a runbook has at least one step'), mostListed),
  },
  disable_ramdisk: { type: z.boolean(), write: z.boolean({ error: 'must be true or false' }).nullish() },
  public: { type: z.boolean(), write: z.boolean({ error: 'must be true or false' }).nullish(), listed: true },
  owner: {
    type: nullableText,
    write: line.optional(),
    listed: true,
  },
  extra: { type: json, write: z.record(z.string(), z.unknown(), { error: 'must be a JSON object' }).nullish() },
});

export const Runbook = answerOf('Runbook', runbookFields.answered);

/** Description of a runbook: its name, and what is done to nodes that have one of its traits when it is asked for. */
export const RunbookDescription = z.strictObject(runbookFields.written);

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
    type: nullableText,
    write: line.optional(),
    listed: true,
  },
  phase: { type: nullableText, write: z.literal('main', { error: 'must be main' }).nullish(), listed: true },
  priority: {
    type: wholeNumber,
    write: z.int({ error: 'must be an integer from 0 to 9999' }).min(0).max(9999).nullish(),
    listed: true,
  },
  scope: { type: nullableText, write: z.null({ error: 'is not supported: must be null' }).optional() },
  sensitive: {
    type: z.boolean(),
    write: z.boolean({ error: 'must be true or false' }).nullish(),
  },
  conditions: {
    type: shown,
    write: boundedList(z.array(Condition, { error: 'must be a list' }), mostListed).nullish(),
  },
  actions: { type: shown, write: boundedList(z.array(z.strictObject(call), { error: 'must be a list' }), mostListed) },
});

export const InspectionRule = answerOf('InspectionRule', ruleFields.answered);

/** Description of a rule: when it holds, and what of the node is changed then. */
export const RuleDescription = z.strictObject(ruleFields.written);
