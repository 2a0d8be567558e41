import { nodeFaults } from '#conductor/model/node-words.ts';

/**
 * THE provision-state table (ironic-api.md §3.8). State strings are Ironic's, to the letter. `apply-event.ts` is the
 * only writer of the column; everything that asks "may this happen now?" asks this table.
 */

export const provisionStates = [
  'enroll',
  'verifying',
  'manageable',
  'inspecting',
  'inspect wait',
  'inspect failed',
  'cleaning',
  'clean wait',
  'clean hold',
  'clean failed',
  'available',
  'deploying',
  'wait call-back',
  'deploy hold',
  'deploy failed',
  'active',
  'deleting',
  'error',
  'adopting',
  'adopt failed',
  'rescuing',
  'rescue wait',
  'rescue',
  'rescue failed',
  'unrescuing',
  'unrescue failed',
  'servicing',
  'service wait',
  'service hold',
  'service failed',
] as const;
export type ProvisionState = (typeof provisionStates)[number];

/** States in which an instance is deployed, which is a node of some cluster if the site's nodes are. */
export const deployedStates: ReadonlySet<ProvisionState> = new Set<ProvisionState>([
  'active',
  'rescue',
  'rescue failed',
  'unrescue failed',
  'service failed',
]);

/** Events that an operator may ask for, under their names in the table. */
export type VerbEvent =
  | 'manage'
  | 'provide'
  | 'inspect'
  | 'clean'
  | 'adopt'
  | 'deploy'
  | 'rebuild'
  | 'delete'
  | 'rescue'
  | 'unrescue'
  | 'service'
  | 'unhold'
  | 'abort';
/** And what the conductor raises itself. */
export type ProvisionEvent = VerbEvent | 'wait' | 'resume' | 'hold' | 'done' | 'fail' | 'cleaned';

/**
 * `cleaned` leaves cleaning for manageable (manual cleaning, retired nodes); Ironic calls that event `manage`, which
 * here stays the operator's verb. `clean` out of `deleting` is the conductor's own. `abort` out of `service failed` leads
 * to `servicing`, and to `active` when the instance runs again: Ironic calls the node `active` while it is still off.
 * `abort` out of states in which a conductor acts is ours: a BMC that takes a call and never answers would hold the node.
 */
export const provisionTransitions = {
  enroll: { manage: 'verifying' },
  verifying: { done: 'manageable', fail: 'enroll', abort: 'enroll' },
  manageable: { provide: 'cleaning', clean: 'cleaning', inspect: 'inspecting', adopt: 'adopting' },
  inspecting: { done: 'manageable', fail: 'inspect failed', wait: 'inspect wait', abort: 'inspect failed' },
  'inspect wait': { done: 'manageable', fail: 'inspect failed', abort: 'inspect failed', resume: 'inspecting' },
  'inspect failed': { manage: 'manageable', inspect: 'inspecting' },
  cleaning: {
    done: 'available',
    fail: 'clean failed',
    wait: 'clean wait',
    hold: 'clean hold',
    cleaned: 'manageable',
    abort: 'clean failed',
  },
  'clean wait': { fail: 'clean failed', abort: 'clean failed', hold: 'clean hold', resume: 'cleaning' },
  'clean hold': { abort: 'clean failed', unhold: 'clean wait' },
  'clean failed': { manage: 'manageable' },
  available: { deploy: 'deploying', manage: 'manageable' },
  deploying: {
    fail: 'deploy failed',
    wait: 'wait call-back',
    hold: 'deploy hold',
    done: 'active',
    abort: 'deploy failed',
  },
  'wait call-back': {
    hold: 'deploy hold',
    resume: 'deploying',
    fail: 'deploy failed',
    abort: 'deploy failed',
    delete: 'deleting',
  },
  'deploy hold': { unhold: 'wait call-back', abort: 'deploy failed' },
  'deploy failed': { rebuild: 'deploying', deploy: 'deploying', delete: 'deleting' },
  active: { rebuild: 'deploying', delete: 'deleting', rescue: 'rescuing', service: 'servicing' },
  deleting: { fail: 'error', clean: 'cleaning', abort: 'error' },
  error: { rebuild: 'deploying', delete: 'deleting' },
  adopting: { done: 'active', fail: 'adopt failed', abort: 'adopt failed' },
  'adopt failed': { adopt: 'adopting', manage: 'manageable' },
  rescuing: { done: 'rescue', wait: 'rescue wait', fail: 'rescue failed', abort: 'rescue failed' },
  'rescue wait': { resume: 'rescuing', fail: 'rescue failed', abort: 'rescue failed', delete: 'deleting' },
  rescue: { rescue: 'rescuing', delete: 'deleting', unrescue: 'unrescuing' },
  'rescue failed': { rescue: 'rescuing', unrescue: 'unrescuing', delete: 'deleting' },
  unrescuing: { done: 'active', fail: 'unrescue failed', abort: 'unrescue failed' },
  'unrescue failed': { rescue: 'rescuing', unrescue: 'unrescuing', delete: 'deleting' },
  servicing: {
    done: 'active',
    fail: 'service failed',
    wait: 'service wait',
    hold: 'service hold',
    abort: 'service failed',
  },
  'service wait': {
    hold: 'service hold',
    resume: 'servicing',
    fail: 'service failed',
    abort: 'service failed',
    delete: 'deleting',
  },
  'service hold': { service: 'servicing', unhold: 'service wait', fail: 'service failed', abort: 'service failed' },
  'service failed': {
    service: 'servicing',
    rescue: 'rescuing',
    wait: 'service wait',
    hold: 'service hold',
    delete: 'deleting',
    abort: 'servicing',
  },
} as const satisfies Record<ProvisionState, Partial<Record<ProvisionEvent, ProvisionState>>>;

/**
 * Where an operator's word leads a node whose row is of a dump, in whatever state that has it: nobody else knows what has
 * become of its machine since. Nothing is asked of the machine, nor done to it.
 */
const restoredTransitions: Partial<Record<ProvisionEvent, ProvisionState>> = { adopt: 'active', manage: 'manageable' };

/** Returns whether a verb says what a restored node is. Pure. */
export function isWordOnRestored({ fault }: { readonly fault: string | null }, event: ProvisionEvent): boolean {
  return fault === nodeFaults.restored && restoredTransitions[event] !== undefined;
}

/**
 * Returns the state that `event` leads to, or `undefined` when it is not possible in `state`.
 * @param fault the node's
 */
export function nextProvisionState(
  state: ProvisionState,
  event: ProvisionEvent,
  fault: string | null = null,
): ProvisionState | undefined {
  const transitions: Partial<Record<ProvisionEvent, ProvisionState>> = provisionTransitions[state];
  return isWordOnRestored({ fault }, event) ? restoredTransitions[event] : transitions[event];
}

/** The targets of `PUT states/provision` and the event each one raises; values are the microversions since which. */
export const provisionVerbs = {
  manage: { event: 'manage', since: 4 },
  provide: { event: 'provide', since: 4 },
  inspect: { event: 'inspect', since: 6 },
  clean: { event: 'clean', since: 15 },
  active: { event: 'deploy', since: 1 },
  deploy: { event: 'deploy', since: 73 },
  rebuild: { event: 'rebuild', since: 1 },
  deleted: { event: 'delete', since: 1 },
  undeploy: { event: 'delete', since: 73 },
  adopt: { event: 'adopt', since: 17 },
  rescue: { event: 'rescue', since: 38 },
  unrescue: { event: 'unrescue', since: 38 },
  service: { event: 'service', since: 87 },
  unhold: { event: 'unhold', since: 85 },
  abort: { event: 'abort', since: 13 },
} as const satisfies Record<string, { event: VerbEvent; since: number }>;
export type ProvisionVerb = keyof typeof provisionVerbs;

/**
 * Returns the verbs that an operator may send in this state: `deploy failed` → active, deploy, rebuild, deleted, undeploy.
 * Of a restored node (`fault`) only those that say what it is.
 */
export function legalVerbs(state: ProvisionState, fault: string | null = null): ProvisionVerb[] {
  return (Object.keys(provisionVerbs) as ProvisionVerb[]).filter((verb) => {
    if (fault === nodeFaults.restored) return isWordOnRestored({ fault }, provisionVerbs[verb].event);
    const next = nextProvisionState(state, provisionVerbs[verb].event);
    return next !== undefined && (state !== 'deleting' || verb === 'abort');
  });
}

/** States in which a conductor or an agent is at work, so that the node's description may not be changed. */
export const transientStates: ReadonlySet<ProvisionState> = new Set<ProvisionState>([
  'verifying',
  'inspecting',
  'inspect wait',
  'cleaning',
  'clean wait',
  'clean hold',
  'deploying',
  'wait call-back',
  'deploy hold',
  'deleting',
  'adopting',
  'rescuing',
  'rescue wait',
  'unrescuing',
  'servicing',
  'service wait',
  'service hold',
]);
