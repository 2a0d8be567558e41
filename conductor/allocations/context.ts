import type { Allocator } from '#conductor/allocations/allocator.ts';
import type { NodesConfig, NodesContext } from '#conductor/nodes/context.ts';

export interface AllocationsConfig extends NodesConfig {
  readonly allocationErrorDays: number;
}

/** What allocations may use beyond what work on nodes may. */
export interface AllocationsContext extends NodesContext {
  readonly config: AllocationsConfig;
}

/** Of those who leave the choice of nodes to the allocator. */
export interface Allocating {
  readonly allocator: Pick<Allocator, 'kick'>;
}
