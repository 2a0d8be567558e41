import { z } from 'zod';
import type { AllocationRow } from '#conductor/kernel/db/schema/allocation.ts';
import { TraitName } from '#conductor/model/trait-name.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';

/** Fields of the API's allocation in the order shown, with the microversion since which (allocation.md §2). */
export const allocationFieldVersions = {
  uuid: 52,
  created_at: 52,
  updated_at: 52,
  name: 52,
  node_uuid: 52,
  state: 52,
  last_error: 52,
  resource_class: 52,
  traits: 52,
  candidate_nodes: 52,
  extra: 52,
  owner: 60,
  // ours; shown where they say something
  wait_until: 52,
  waiting_for: 52,
  group_uuid: 52,
} as const satisfies Record<string, number>;
export type AllocationField = keyof typeof allocationFieldVersions;
export const allocationFields = Object.keys(allocationFieldVersions) as AllocationField[];

const ownFields: ReadonlySet<AllocationField> = new Set<AllocationField>(['wait_until', 'waiting_for', 'group_uuid']);

const jsonDocument = z.record(z.string(), z.unknown(), { error: 'must be a JSON object' });
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
  name: z.string({ error: 'must be text' }).nullish(),
  resource_class: z.string({ error: 'must be text' }).min(1).max(80).nullish(),
  traits: z.array(TraitName, { error: 'must be a list of traits' }).nullish(),
  candidate_nodes: z.array(z.string(), { error: 'must be a list of names or UUIDs of nodes' }).nullish(),
  extra: jsonDocument.nullish(),
  owner: z.string({ error: 'must be text' }).max(255).nullish(),
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

/** What a PATCH may change. */
export const AllocationPatch = z.strictObject({
  name: z.string({ error: 'must be text' }).nullish(),
  extra: jsonDocument.nullish(),
});

/** The allocation as the API shows it, without links. Pure. */
export function viewAllocation(
  row: AllocationRow,
  options: { readonly version: number; readonly fields?: readonly AllocationField[] | undefined },
): Record<string, unknown> {
  const values: Record<AllocationField, unknown> = {
    uuid: row.uuid,
    created_at: apiTime(row.createdAt),
    updated_at: apiTime(row.updatedAt),
    name: row.name,
    node_uuid: row.nodeUuid,
    state: row.state,
    last_error: row.lastError,
    resource_class: row.resourceClass,
    traits: row.traits,
    candidate_nodes: row.candidateNodes,
    extra: row.extra,
    owner: row.owner,
    wait_until: apiTime(row.waitUntil),
    waiting_for: row.waitingFor,
    group_uuid: row.groupUuid,
  };
  const isShown = (name: AllocationField): boolean => !ownFields.has(name) || values[name] !== null;
  const names = options.fields ?? allocationFields.filter(isShown);
  return Object.fromEntries(
    names.filter((name) => allocationFieldVersions[name] <= options.version).map((name) => [name, values[name]]),
  );
}
