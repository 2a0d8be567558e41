import { randomUUID } from 'node:crypto';
import { insertAllocations } from '#conductor/allocations/allocation-store.ts';
import type { AllocationsContext } from '#conductor/allocations/context.ts';
import { type Refusal, refusals } from '#conductor/allocations/match.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Transaction } from '#conductor/kernel/db/open.ts';
import type { AllocationInsert, AllocationRow } from '#conductor/kernel/db/schema/allocation.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { notifyWebhooksOfAllocations } from '#conductor/kernel/outbox.ts';
import { changeUnlocked } from '#conductor/nodes/change-unlocked.ts';
import { addHistory } from '#conductor/nodes/node-history.ts';
import { updateNode } from '#conductor/nodes/node-store.ts';
import { listTraits } from '#conductor/nodes/traits/trait-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

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
 * An allocation for a node that runs an instance already (`node` in the request, allocation.md §3.2), in one
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
    });
    await notifyWebhooksOfAllocations(tx, [allocation.uuid]);
    return allocation;
  });
}

/** What stands against a node that is in use as it does against a free one. */
const lasting: ReadonlySet<Refusal['kind']> = new Set<Refusal['kind']>(['candidate', 'class', 'owner', 'traits']);

async function requireFit(tx: Transaction, node: NodeRow, wanted: AllocationInsert): Promise<void> {
  const { traits: wantedTraits = [], candidateNodes = [], owner = null, resourceClass } = wanted;
  const traits = (await listTraits(tx, [node.uuid])).get(node.uuid) ?? [];
  const candidate = { ...node, traits, rack: undefined, isLocked: false, hasLease: true };
  const faults = [
    node.allocationUuid !== null && `has allocation ${node.allocationUuid} already`,
    node.provisionState !== 'active' && `is in state '${node.provisionState}', not 'active'`,
    node.instanceUuid !== null && node.instanceUuid !== wanted.uuid && `has instance ${node.instanceUuid}`,
    ...refusals(candidate, { resourceClass, traits: wantedTraits, candidateNodes, owner })
      .filter(({ kind }) => lasting.has(kind))
      .map(({ text }) => text),
  ].filter((fault) => fault !== false);
  if (faults.length === 0) return;
  throw new AppError('conflict', `Node ${node.uuid} can't be given to the allocation: it ${faults.join(', and it ')}.`);
}
