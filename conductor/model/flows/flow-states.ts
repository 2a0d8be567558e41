import { AppError } from '#shared/errors/app-error.ts';

/** The kinds of flow (their rows stand in `flow-kinds.ts`) and the states of a flow. */
export type FlowKindName =
  | 'verify'
  | 'inspect'
  | 'inspect_by_bmc'
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

/** An operator's last request to a flow: that it goes on, begins nothing new for a while, or ends. */
export type FlowRequest = 'run' | 'hold' | 'abort';

/** `flows.held` of a site's action that a restore has paused: until a person says so, it looks after no node either. */
export const heldByRestore = 'restored';

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

/**
 * The intent log's language: what may follow what for one step. A `started` without an end shows a conductor that comes
 * after a crash to run the step again (every step is safe to repeat); an illegal order is a programming error.
 */

export type FlowStepState = 'pending' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'skipped';
export type FlowEvent = 'started' | 'waiting' | 'succeeded' | 'failed' | 'skipped';

/** `main` steps do the flow's work, `cleanup` steps make the node safe after a failure. */
export type FlowStepPhase = 'main' | 'cleanup';

/** The party that put a step into the plan. */
export type FlowStepOrigin = 'core' | 'driver' | 'agent' | 'template' | 'request' | 'plugin';

const nextStates: Record<FlowStepState, Partial<Record<FlowEvent, FlowStepState>>> = {
  pending: { started: 'running', skipped: 'skipped' },
  running: { started: 'running', waiting: 'waiting', succeeded: 'succeeded', failed: 'failed', skipped: 'skipped' },
  waiting: { started: 'running', waiting: 'waiting', succeeded: 'succeeded', failed: 'failed', skipped: 'skipped' },
  succeeded: {},
  failed: {},
  skipped: {},
};

/** @throws AppError `internal` when the event can't follow the state. */
export function stateAfter(state: FlowStepState, event: FlowEvent): FlowStepState {
  const next = nextStates[state][event];
  if (!next) throw new AppError('internal', `step event '${event}' cannot follow state '${state}'`);
  return next;
}

/** The question that an instance is asked to find out whether it is in service, as documents have it. */
export interface InstanceAnswer {
  readonly by: 'ping' | 'tcp' | 'http';
  /** A host; `HOST:PORT`; a URL. */
  readonly target: string;
}
