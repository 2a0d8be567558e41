import type { FlowStepState } from '#conductor/model/flow-log.ts';

/** The kinds of flow (their rows stand in `flow-kinds.ts`) and the states of a flow. */
export type FlowKindName =
  | 'verify'
  | 'inspect'
  | 'clean'
  | 'manual_clean'
  | 'deploy'
  | 'service'
  | 'restore'
  | 'rescue'
  | 'unrescue'
  | 'adopt'
  | 'teardown'
  | 'decommission'
  | 'wipe'
  | 'leave_cluster'
  | 'enter_service';

/** How a node's disks are wiped when its instance is given up (seed 001, "Drydock Destroy Node"). */
export interface WipeRequest {
  /** Only the disk with the operating system is wiped, every other stays as it is. */
  readonly preserveLocalStorage: boolean;
}

/** `failing`, `aborting`: a step has failed, or an operator has said stop, and the kind's clean-up steps are running. */
export type FlowState = 'running' | 'waiting' | 'failing' | 'aborting' | 'succeeded' | 'failed' | 'aborted';

/** What an operator has asked of a flow last: that it goes on, begins nothing new for a while, or ends. */
export type FlowRequest = 'run' | 'hold' | 'abort';

export function requestOf(flow: { readonly held: string | null; readonly abortRequested: string | null }): FlowRequest {
  if (flow.abortRequested !== null) return 'abort';
  return flow.held === null ? 'run' : 'hold';
}

export function isCleaningUp(state: FlowState): state is 'failing' | 'aborting' {
  return state === 'failing' || state === 'aborting';
}

export function isEnded(state: FlowStepState): boolean {
  return state === 'succeeded' || state === 'failed' || state === 'skipped';
}
