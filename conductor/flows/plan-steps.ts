import type { JsonObject } from '#conductor/db/schema/node.ts';
import type { CoreStep, FlowKind } from '#conductor/flows/flow-kinds.ts';
import type { FlowStepOrigin } from '#conductor/flows/flow-log.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { AdvertisedStep } from '#shared/wire/step.ts';

/** One row of a plan, in the order in which it will run. */
export interface PlannedStep {
  readonly interface: string;
  readonly step: string;
  readonly priority: number;
  readonly args: JsonObject;
  readonly origin: FlowStepOrigin;
  readonly inBand: boolean;
  readonly abortable: boolean;
  readonly rebootRequested: boolean;
}

/** A step that the operator asked for (`deploy_steps`). */
export interface RequestedStep {
  readonly interface: string;
  readonly step: string;
  readonly args: JsonObject;
  readonly priority: number;
}

/** Ties of priority: higher first (agent-protocol.md §5.3). */
const interfaceRank: Readonly<Record<string, number>> = {
  vendor: 7,
  power: 6,
  management: 5,
  firmware: 4,
  deploy: 3,
  bios: 2,
  raid: 1,
};

/** Ironic's key of a step: interface and name. */
function keyOf(step: { readonly interface: string; readonly step: string }): string {
  return `${step.interface}.${step.step}`;
}

/**
 * The ordered steps of one flow. `advertised` is the agent's list, or `undefined` before its first heartbeat: requested
 * steps that only the agent can know are then left for the second planning.
 * @throws AppError `invalid_argument` naming the step and what would be right.
 */
export function planSteps(
  kind: FlowKind,
  options: {
    readonly advertised?: readonly AdvertisedStep[] | undefined;
    readonly requested: readonly RequestedStep[];
  },
): PlannedStep[] {
  refuseDuplicates(options.requested);
  const merged = new Map<string, PlannedStep>();
  for (const step of options.advertised ?? []) merged.set(keyOf(step), fromAgent(step));
  // an out-of-band step hides an in-band one of the same name
  for (const step of kind.sorted) merged.set(keyOf(step), fromCore(step));
  for (const step of options.requested) refuseCoreOverride(kind, step);
  for (const step of options.requested) applyRequest(merged, step, options.advertised !== undefined);
  const sorted = [...merged.values()].filter((step) => step.priority > 0).sort(byPriority);
  for (const step of sorted) checkWindow(kind, step);
  return [...kind.opening.map(fromCore), ...sorted.flatMap(withReboot), ...kind.closing.map(fromCore)];
}

export function planCleanup(kind: FlowKind): PlannedStep[] {
  return kind.cleanup.map(fromCore);
}

function fromCore(step: CoreStep): PlannedStep {
  return {
    interface: step.interface,
    step: step.step,
    priority: step.priority,
    args: {},
    origin: 'core',
    inBand: step.inBand ?? false,
    abortable: false,
    rebootRequested: false,
  };
}

function fromAgent(step: AdvertisedStep): PlannedStep {
  return {
    interface: step.interface,
    step: step.step,
    priority: step.priority,
    args: {},
    origin: 'agent',
    inBand: true,
    abortable: step.abortable,
    rebootRequested: step.reboot_requested,
  };
}

function applyRequest(merged: Map<string, PlannedStep>, request: RequestedStep, agentKnown: boolean): void {
  const key = keyOf(request);
  const known = merged.get(key);
  if (known) {
    // reboot_requested and abortable stay the step's own: Ironic loses them here
    merged.set(key, { ...known, priority: request.priority, args: request.args, origin: 'request' });
  } else if (agentKnown) {
    throw new AppError(
      'invalid_argument',
      `deploy_steps: no step ${key}: neither the conductor nor the agent has it (they have ${[...merged.keys()].sort().join(', ')})`,
    );
  }
}

/**
 * The conductor's own steps keep their places: without them, or in another order, a deploy would leave the node on the
 * provisioning network, or boot what has not been written. Only the image may be written earlier or later, as long as
 * the agent runs and the bootloader comes after it; what is written stands in instance_info.
 */
function refuseCoreOverride(kind: FlowKind, request: RequestedStep): void {
  const own = [...kind.opening, ...kind.sorted, ...kind.closing, ...kind.cleanup, rebootAfter(request)];
  const known = own.find((step) => keyOf(step) === keyOf(request));
  if (!known) return;
  const bootloader = kind.sorted.find((step) => step.step === 'prepare_instance_boot');
  const lowest = (bootloader?.priority ?? 0) + 1;
  const highest = kind.inBand?.window?.highest ?? 0;
  const rule = `what may be requested are the agent's steps, and deploy.write_image without args at priorities ${lowest} to ${highest}`;
  if (known.step !== 'write_image') {
    throw refused(`${keyOf(request)} is the conductor's own step and may not be overridden; ${rule}`);
  }
  if (request.priority < lowest || request.priority > highest) {
    throw refused(`${keyOf(request)} may not have priority ${request.priority}; ${rule}`);
  }
  if (Object.keys(request.args).length > 0) {
    throw refused(`${keyOf(request)} takes no args (${Object.keys(request.args).join(', ')}); ${rule}`);
  }
}

function refused(what: string): AppError {
  return new AppError('invalid_argument', `deploy_steps: ${what}`);
}

function refuseDuplicates(requested: readonly RequestedStep[]): void {
  const seen = new Set<string>();
  for (const step of requested) {
    if (seen.has(keyOf(step)))
      throw new AppError('invalid_argument', `deploy_steps: ${keyOf(step)} stands there twice`);
    seen.add(keyOf(step));
  }
}

function checkWindow(kind: FlowKind, step: PlannedStep): void {
  const window = kind.inBand?.window;
  if (!window || !step.inBand || (step.priority >= window.lowest && step.priority <= window.highest)) return;
  throw new AppError(
    'invalid_argument',
    `in-band step ${keyOf(step)} has priority ${step.priority}; it must be ${window.lowest} to ${window.highest}, ` +
      'when the agent is running, or 0 to disable it',
  );
}

/** A step that asks for a reboot is followed by one into the ramdisk, which the operator sees in the plan. */
function withReboot(step: PlannedStep): PlannedStep[] {
  return step.rebootRequested ? [step, rebootAfter(step)] : [step];
}

export function rebootAfter(step: Pick<PlannedStep, 'priority'>): PlannedStep {
  return fromCore({ interface: 'deploy', step: 'reboot_ramdisk', priority: step.priority });
}

function byPriority(a: PlannedStep, b: PlannedStep): number {
  return b.priority - a.priority || (interfaceRank[b.interface] ?? 0) - (interfaceRank[a.interface] ?? 0);
}
