import type { Allocating } from '#conductor/allocations/allocator.ts';
import type { AllocationsConfig } from '#conductor/allocations/context.ts';
import type { FlowsContext } from '#conductor/flows/context.ts';
import type { FlowsConfig } from '#conductor/flows/flows-config.ts';

export interface SitesConfig extends FlowsConfig, AllocationsConfig {
  readonly siteBeatMs: number;
}

/** Means that work on sites may use: nodes are chosen and worked on by others. */
export interface SitesContext extends FlowsContext, Allocating {
  readonly config: SitesConfig;
}
