import { z } from 'zod';
import { jsonDocument, line } from '#conductor/api/node-description.ts';
import { type Answer, answerOf, defineFields, json, nullableText, time, uuid } from '#conductor/api/values.ts';
import { allocationStates, statesOf } from '#conductor/model/site/transitions.ts';
import { TraitName } from '#conductor/model/trait-name.ts';

export const allocationFields = defineFields('allocation', 52, {
  uuid: { type: uuid },
  created_at: { type: time },
  updated_at: { type: time.nullable() },
  name: { type: nullableText, write: z.string({ error: 'must be text' }).nullish() },
  node_uuid: { type: uuid.nullable() },
  state: { type: z.enum(statesOf(allocationStates)) },
  last_error: { type: nullableText },
  resource_class: { type: nullableText },
  traits: { type: z.array(z.string()) },
  candidate_nodes: { type: z.array(z.string()) },
  extra: { type: json, write: jsonDocument.nullish() },
  owner: { type: nullableText, since: 60 },
  wait_until: { type: time.nullable() },
  waiting_for: { type: nullableText },
  group_uuid: { type: uuid.nullable() },
});

export const Allocation = answerOf('Allocation', allocationFields.answered);
export type AllocationAnswer = Answer<typeof Allocation>;

/** Fields that a PATCH may change. */
export const AllocationPatch = z.strictObject(allocationFields.written);

const longestWait = 365 * 24 * 3600;
const largestGroup = 200;
const groupSize = z
  .number({ error: 'must be a number' })
  .int()
  .min(1)
  .max(largestGroup, `must be at most ${largestGroup}`);

/** Body of `POST /v1/allocations` (allocation.md §3; the last five are ours, docs/first-rack.md). */
export const AllocationRequest = z.strictObject({
  uuid: z.guid({ error: 'must be a UUID' }).nullish(),
  ...allocationFields.written,
  resource_class: z
    .string({ error: 'must be text' })
    .min(1, 'must not be empty')
    .max(80, 'is too long: at most 80 characters')
    .nullish(),
  traits: z.array(TraitName, { error: 'must be a list of traits' }).nullish(),
  candidate_nodes: z.array(z.string(), { error: 'must be a list of names or UUIDs of nodes' }).nullish(),
  owner: line.optional(),
  node: z.string({ error: 'must be the name or UUID of a node' }).nullish(),
  wait: z
    .number({ error: 'must be a number of seconds' })
    .positive('must be more than 0 seconds')
    .max(longestWait, `must be at most ${longestWait} seconds`)
    .optional(),
  count: groupSize.optional(),
  min_count: groupSize.optional(),
  placement: z.enum(['spread', 'pack'], { error: 'must be spread or pack' }).optional(),
  dry_run: z.boolean({ error: 'must be true or false' }).optional(),
});
export type AllocationRequest = z.infer<typeof AllocationRequest>;
