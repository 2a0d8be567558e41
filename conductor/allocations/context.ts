import { z } from 'zod';
import type { NodesConfig, NodesContext } from '#conductor/nodes/context.ts';

export interface AllocationsConfig extends NodesConfig {
  readonly allocationErrorDays: number;
  /** 0: what dead conductors have left stays theirs. */
  readonly takeoverIntervalMs: number;
}

/** Means that allocations may use beyond those of work on nodes. */
export interface AllocationsContext extends NodesContext {
  readonly config: AllocationsConfig;
}

export const allocationEnvironment = {
  BATON_TAKEOVER_INTERVAL: z.coerce
    .number()
    .min(0)
    .max(86_400)
    .default(5)
    .describe('seconds between searches for the allocations of dead conductors; 0 = never'),
  BATON_ALLOCATION_ERROR_DAYS: z.coerce
    .number()
    .int()
    .min(0)
    .max(36_500)
    .default(0)
    .describe('days after which an allocation in error is forgotten, with its name; 0 = never'),
};
