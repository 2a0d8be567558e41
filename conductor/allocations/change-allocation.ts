import { randomUUID } from 'node:crypto';
import {
  allocationResource,
  deleteUnmatched,
  getAllocation,
  insertAllocations,
} from '#conductor/allocations/allocation-store.ts';
import type { AllocationsContext } from '#conductor/allocations/context.ts';
import { listRefusals, type Refusal } from '#conductor/allocations/match.ts';
import { AllocationPatch } from '#conductor/api/allocations.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import type { AllocationInsert, AllocationRow } from '#conductor/kernel/db/schema/allocation.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { type JsonPatch, patchDocument } from '#conductor/kernel/json-patch.ts';
import { notifyWebhooksOfAllocations } from '#conductor/kernel/outbox.ts';
import { requestIdsOf } from '#conductor/model/request-ids.ts';
import { forgetAllocation, requireReleasable } from '#conductor/nodes/change/node-allocation.ts';
import { nodeNameFault } from '#conductor/nodes/node-fields.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { changeUnlocked } from '#conductor/nodes/node-lock.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { notifyCapacity } from '#conductor/nodes/notify-capacity.ts';
import { getRow, lockRow, updateRow } from '#conductor/nodes/resources/resource-store.ts';
import { listTraits } from '#conductor/nodes/traits.ts';
import { AppError, errorCode } from '#shared/errors/app-error.ts';

/**
 * Serves `PATCH /v1/allocations/{allocation}`: name and extra, in any state (allocation.md §5).
 * @throws AppError `not_found`, `invalid_argument` naming the field, `conflict` for a duplicate name.
 */
export function changeAllocation(
  db: Queryable,
  uuid: string,
  patch: JsonPatch,
  version: number,
): Promise<AllocationRow> {
  return db.transaction(async (tx) => {
    const row = await lockRow(tx, allocationResource, uuid);
    const { name, extra } = patchDocument({ name: row.name, extra: row.extra }, patch, AllocationPatch);
    const fault = typeof name === 'string' && name !== row.name ? nodeNameFault(name, version) : undefined;
    if (fault)
      throw new AppError('invalid_argument', `Cannot change name of allocation ${uuid} to '${name}': ${fault}.`);
    await updateRow(tx, allocationResource, row, { name: name ?? null, extra: extra ?? {} });
    return getRow(tx, allocationResource, uuid);
  });
}

/**
 * Deletes an allocation and gives its node back, in one transaction. What stands in the node's `instance_info` stays.
 * @throws AppError `not_found`, `conflict` (node active, or on its way into another state), `node_locked`.
 */
export async function releaseAllocation(
  context: Pick<AllocationsContext, 'db' | 'clock' | 'config'>,
  uuid: string,
  caller: Caller,
): Promise<void> {
  // it may be given a node between the two looks
  if (await deleteUnmatched(context.db, uuid)) return;
  const { nodeUuid } = await getAllocation(context.db, uuid);
  if (nodeUuid === null) throw new AppError('conflict', `Allocation ${uuid} is being changed; try again.`);
  try {
    await changeUnlocked(context, nodeUuid, async (tx, node) => {
      if (node.allocationUuid !== uuid) throw new AppError('not_found', `Allocation ${uuid} could not be found.`);
      requireReleasable(node);
      await updateNode(tx, nodeUuid, { allocationUuid: null, instanceUuid: null });
      await forgetAllocation(tx, node, { conductor: context.config.conductorName, caller });
      await notifyCapacity(tx, nodeUuid);
    });
  } catch (error) {
    if (errorCode(error) !== 'not_found') throw error;
    throw new AppError('not_found', `Allocation ${uuid} could not be found.`, { cause: error });
  }
}

export interface Backfill {
  readonly uuid: string | undefined;
  readonly resourceClass: string | undefined;
  readonly name: string | null;
  readonly extra: Record<string, unknown>;
  readonly owner: string | null;
  readonly traits: string[];
  readonly candidateNodes: string[];
  readonly conductor: string;
}

/**
 * Makes an allocation for a node that runs an instance already (`node` in the request, allocation.md §3.2), in one
 * transaction: where it does not fit, no row stays behind.
 * @throws AppError `not_found`, `conflict` saying what does not fit, `node_locked`.
 */
export async function backfillAllocation(
  context: Pick<AllocationsContext, 'db' | 'clock'>,
  nodeUuid: string,
  { caller, ...given }: Backfill & { readonly caller: Caller },
): Promise<AllocationRow> {
  return changeUnlocked(context, nodeUuid, async (tx, node) => {
    const row: AllocationInsert = {
      ...given,
      uuid: given.uuid ?? node.instanceUuid ?? randomUUID(),
      resourceClass: given.resourceClass ?? node.resourceClass ?? '',
      state: 'active',
      nodeUuid: node.uuid,
    };
    await requireFit(tx, node, row);
    const [allocation] = await insertAllocations(tx, [row]);
    if (!allocation) throw new AppError('internal', `insert allocation ${row.uuid}: the database answered no row`);
    await updateNode(tx, node.uuid, {
      allocationUuid: row.uuid,
      instanceUuid: row.uuid,
      instanceInfo: { ...node.instanceInfo, traits: given.traits },
    });
    await addHistory(tx, {
      nodeUuid: node.uuid,
      severity: 'INFO',
      eventType: 'allocation',
      event: `given to allocation ${given.name ?? row.uuid}, which was made for it`,
      conductor: given.conductor,
      user: caller.user,
      project: caller.project,
      ...requestIdsOf(caller),
    });
    await notifyWebhooksOfAllocations(tx, [allocation.uuid]);
    return allocation;
  });
}

/** Refusals that stand against a node that is in use as they do against a free one. */
const lasting: ReadonlySet<Refusal['kind']> = new Set<Refusal['kind']>(['candidate', 'class', 'owner', 'traits']);

async function requireFit(tx: Transaction, node: NodeRow, wanted: AllocationInsert): Promise<void> {
  const { traits: wantedTraits = [], candidateNodes = [], owner = null, resourceClass } = wanted;
  const traits = (await listTraits(tx, [node.uuid])).get(node.uuid) ?? [];
  const candidate = { ...node, traits, rack: undefined, isLocked: false, hasLease: true };
  const faults = [
    node.allocationUuid !== null && `has allocation ${node.allocationUuid} already`,
    node.provisionState !== 'active' && `is in state '${node.provisionState}', not 'active'`,
    node.instanceUuid !== null && node.instanceUuid !== wanted.uuid && `has instance ${node.instanceUuid}`,
    ...listRefusals(candidate, { resourceClass, traits: wantedTraits, candidateNodes, owner })
      .filter(({ kind }) => lasting.has(kind))
      .map(({ text }) => text),
  ].filter((fault) => fault !== false);
  if (faults.length === 0) return;
  throw new AppError('conflict', `Node ${node.uuid} can't be given to the allocation: it ${faults.join(', and it ')}.`);
}
