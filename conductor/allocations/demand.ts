import type { Demand, Requirements } from '#conductor/allocations/match.ts';
import type { WorkRow } from '#conductor/allocations/work-store.ts';
import type { AllocationRow } from '#conductor/kernel/db/schema/allocation.ts';

/** Allocations that are served together: one, or the members of a group that have no node yet. */
export interface Unit {
  /** The first one's UUID, or the group's. */
  readonly key: string;
  /** In the order of their creation; never empty. */
  readonly members: readonly [WorkRow, ...WorkRow[]];
  readonly requirements: Requirements;
}

/** Lists units of demand in the order of their creation. Pure. */
export function unitsOf(rows: readonly WorkRow[]): Unit[] {
  const groups = Map.groupBy(rows, (row) => row.groupUuid ?? row.uuid);
  return [...groups].flatMap(([key, [first, ...others]]) =>
    first ? [{ key, members: [first, ...others] as const, requirements: requirementsOf(first) }] : [],
  );
}

export function requirementsOf(
  row: Pick<AllocationRow, 'resourceClass' | 'traits' | 'candidateNodes' | 'owner'>,
): Requirements {
  return {
    resourceClass: row.resourceClass,
    traits: row.traits,
    candidateNodes: row.candidateNodes,
    owner: row.owner,
  };
}

/** Computes the unit's demand now. With `wait` all of it is waited for; at the deadline `min_count` will do. Pure. */
export function demandOf(unit: Unit, options: { readonly triesLeft: number }): Demand {
  const { members } = unit;
  const [{ minCount, placement }] = members;
  return {
    names: members.map(({ name }) => name),
    count: members.length,
    minCount: Math.min(minCount ?? members.length, members.length),
    placement: placement ?? undefined,
    mayWait: mayWait(unit),
    triesLeft: options.triesLeft,
  };
}

export function mayWait({ members: [{ waitsMs }] }: Unit): boolean {
  return waitsMs !== null && waitsMs > 0;
}

/** Units with the same one can be given the same nodes. */
export function requirementsKey({ resourceClass, traits, candidateNodes, owner }: Requirements): string {
  return JSON.stringify([resourceClass, [...traits].sort(), [...candidateNodes].sort(), owner]);
}
