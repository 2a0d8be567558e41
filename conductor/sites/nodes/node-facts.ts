import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import type { AllocationState } from '#conductor/model/allocation-states.ts';
import type { FlowKindName, FlowState } from '#conductor/model/flow-states.ts';
import type { PluginTaskRef } from '#conductor/model/planned-step.ts';

/** What is known of a document's node when its next move is decided. Plain values. */
export interface NodeFacts {
  /** Absent = there is no node of that name. */
  readonly node?: ObservedNode;
  /** The flow under way, or else the last one. */
  readonly flow?: ObservedFlow;
  /** The site's reservation of the node. */
  readonly allocation?: ObservedAllocation;
  /** What the site has made of it (`site_nodes`). */
  readonly deployed?: ObservedDeploy;
  /** Why a deploy from its document would be refused, whatever has become of the node by then. */
  readonly undeployable?: string;
  /** Only of a node that no flow of this action works on. */
  readonly rest?: RestingFacts;
}

export type ObservedNode = Pick<
  NodeRow,
  | 'uuid'
  | 'provisionState'
  | 'provisionUpdatedAt'
  | 'maintenance'
  | 'maintenanceReason'
  | 'fault'
  | 'instanceUuid'
  | 'owner'
  | 'lessee'
  | 'retired'
  | 'retiredReason'
  | 'lastError'
  | 'driver'
  | 'deployInterface'
  | 'owedWipe'
>;

export interface ObservedFlow {
  readonly uuid: string;
  readonly kind: FlowKindName;
  readonly state: FlowState;
  readonly isOpen: boolean;
  readonly actionId: string | null;
  readonly requestedBy: string | null;
  readonly error: string | null;
  readonly held: string | null;
  readonly onHold: string | null;
  readonly abortRequested: string | null;
  /** That runs or waits now. */
  readonly step?: ObservedStep;
}

export interface ObservedStep {
  /** `deploy.write_image` */
  readonly name: string;
  readonly plugin: PluginTaskRef | null;
  readonly waitingFor: string | null;
  /** `writing image`, and how much of it: 0 to 100. */
  readonly phase?: string;
  readonly percent?: number;
}

export interface ObservedAllocation {
  readonly uuid: string;
  readonly state: AllocationState;
  readonly nodeUuid: string | null;
  /** For people. */
  readonly nodeName: string | null;
  /** The site action that made it. */
  readonly actionId: string | null;
  readonly lastError: string | null;
  readonly waitingFor: string | null;
}

export interface ObservedDeploy {
  readonly revisionId: number;
  readonly designHash: string;
  readonly instanceUuid: string | null;
  /** Nobody has seen it in service since its deploy. */
  readonly isAwaited: boolean;
}

export interface RestingFacts {
  /** Why the documents can't hold for this node at all: `port 52:… is node n7's`. */
  readonly impossible?: string;
  /** What of the node is not as the documents say: `driver_info`, `port 52:54:00:…`. */
  readonly differs: readonly string[];
  /** RAID or BIOS settings are asked for and not known to be there. */
  readonly needsHardware: boolean;
  /** … and what that takes begins with deleting the arrays that there are. */
  readonly rebuildsRaid?: boolean;
  /** A wipe has kept disks of it, which nothing that prepares it may take. */
  readonly sparesDisks?: boolean;
  /** Something has to come about before its deploy counts: it joins a cluster, or answers. */
  readonly awaitsService?: boolean;
  /** It was never inspected, and a ramdisk could do it. */
  readonly needsInspection: boolean;
  /**
   * This action took it out of its clusters so long ago, or drained it before the end of a pause: somebody may have put it
   * back.
   */
  readonly mayBeBack?: boolean;
  /** Kinds of flows of this action that have succeeded on it. */
  readonly succeeded: ReadonlySet<FlowKindName>;
}
