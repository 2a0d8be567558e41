import type { Drivers } from '#conductor/drivers/table/registry.ts';
import type { KernelConfig, KernelContext } from '#conductor/kernel/context.ts';
import type { NetworkConnector } from '#conductor/networks/connect-node.ts';
import type { InspectionRule } from '#conductor/nodes/inspection-rule.ts';

export interface NodesConfig extends KernelConfig {
  readonly defaultNetworkInterface: string;
  readonly fastTrack: boolean;
  /** How unknown machines are enrolled that boot the ramdisk; `undefined`: they boot from disk. */
  readonly discovery:
    | {
        readonly driver: string;
        readonly limit: number;
        /** After so many milliseconds a machine that nobody has touched is forgotten; 0 = never. */
        readonly forgetMs: number;
      }
    | undefined;
}

/** Means that work on nodes may use beyond the kernel: the hardware. */
export interface NodesContext extends KernelContext {
  readonly config: NodesConfig;
  readonly drivers: Drivers;
  readonly networks: NetworkConnector;
  /** The operator's, the highest priority first. */
  readonly inspectionRules: readonly InspectionRule[];
}

/** Means of those who leave work to the scheduler. */
export interface Nudging {
  /** Something about the node has changed: look at its flow and its targets now. Returns at once, never throws. */
  readonly nudge: (nodeUuid: string, origin?: 'agent' | 'operator') => void;
}
