import { checkArgsInfo, checkReservedArgs, checkValues, reservedInterface } from '#conductor/flows/plan/step-args.ts';
import type { FlowKind } from '#conductor/model/flows/flow-kind.ts';
import {
  type PlanFacts,
  type PlannedStep,
  plannedAdvertised,
  plannedCore,
  plannedDriver,
  type RequestedStep,
  rebootAfter,
  stepKey,
} from '#conductor/model/flows/planned-step.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { parseStepArgs } from '#shared/steps/define-step.ts';
import { pluginTaskStep } from '#shared/wire/step.ts';

/** The asker for a step: `template CUSTOM_RAID1` or `the request`. */
interface Asker {
  readonly origin: 'template' | 'request';
  readonly name: string;
}

/**
 * Merges steps: agent's ← drivers' ← core ← templates' ← the request's. Each hides or overrides the one before of the same
 * interface and name (agent-protocol.md §5.2, §5.3). Unsorted, those of priority 0 included.
 * @throws AppError `invalid_argument` naming asker, step and what would be right.
 */
export function mergeSteps(kind: FlowKind, facts: PlanFacts): PlannedStep[] {
  const merged = new Map<string, PlannedStep>();
  const abortable = kind.inBand?.kind === 'deploy';
  for (const step of facts.advertised ?? []) merged.set(stepKey(step), plannedAdvertised(step, abortable));
  for (const step of facts.drivers ?? []) {
    const hides = merged.has(stepKey(step)) ? ", in place of the agent's step of that name" : '';
    merged.set(stepKey(step), plannedDriver(step, `the driver offers it at priority ${step.priority}${hides}`));
  }
  for (const [key, step] of merged) merged.set(key, withSetPriority(step, facts));
  for (const step of kind.sorted) merged.set(stepKey(step), withoutImage(plannedCore(step), facts));
  for (const { asker, steps } of askersOf(facts)) {
    for (const step of steps) applyRequest(kind, facts, merged, { asker, step });
  }
  return [...merged.values()];
}

function withoutImage(step: PlannedStep, { withoutImage: why }: PlanFacts): PlannedStep {
  if (why === undefined || step.step !== 'write_image') return step;
  return { ...step, priority: 0, reason: `${step.reason}; left out, for ${why}` };
}

function withSetPriority(step: PlannedStep, { priorities }: PlanFacts): PlannedStep {
  const priority = priorities?.get(stepKey(step));
  if (priority === undefined) return step;
  return {
    ...step,
    priority,
    reason: `BATON_CLEAN_STEP_PRIORITIES puts it at priority ${priority}; overrides: ${step.reason}`,
  };
}

function askersOf(facts: PlanFacts): { readonly asker: Asker; readonly steps: readonly RequestedStep[] }[] {
  const templates = facts.templates ?? [];
  const owners = new Map<string, string>();
  for (const { name, steps } of templates) {
    for (const step of steps) {
      const owner = owners.get(stepKey(step));
      if (owner !== undefined) {
        throw new AppError('invalid_argument', `${stepKey(step)} is in both template ${owner} and template ${name}`);
      }
      owners.set(stepKey(step), name);
    }
  }
  const requested = facts.requested.filter(({ plugin }) => plugin === undefined);
  const seen = new Set<string>();
  for (const step of requested) {
    if (seen.has(stepKey(step)))
      throw new AppError('invalid_argument', `deploy_steps: ${stepKey(step)} is given twice`);
    seen.add(stepKey(step));
  }
  return [
    ...templates.map(({ name, steps }) => ({
      asker: { origin: 'template', name: `template ${name}` } as const,
      steps,
    })),
    { asker: { origin: 'request', name: 'the request' }, steps: requested },
  ];
}

function applyRequest(
  kind: FlowKind,
  facts: PlanFacts,
  merged: Map<string, PlannedStep>,
  { asker, step }: { readonly asker: Asker; readonly step: RequestedStep },
): void {
  requireNoCoreOverride(kind, asker, step);
  if (stepKey(step) === stepKey(pluginTaskStep)) {
    throw refused(asker, `${stepKey(step)} can't be asked for: it runs the tasks of a site's plugins`);
  }
  const reserved = reservedInterface(step.step, { inDeploy: true });
  const key = reserved ? `${reserved}.${step.step}` : stepKey(step);
  const known = merged.get(key);
  const asked = { priority: step.priority, args: step.args, origin: asker.origin };
  checkArgs(facts, asker, step);
  // among equals those that were asked for come last, in the order in which they were (Ironic's steps.py)
  merged.delete(key);
  if (known) {
    // reboot_requested and abortable stay the step's own: Ironic loses them here
    const overrides = `; overrides: ${known.reason}`;
    merged.set(key, {
      ...known,
      ...asked,
      reason: `${asker.name} asks for it at priority ${step.priority}${overrides}`,
    });
    return;
  }
  const reason = `${asker.name} asks for it at priority ${step.priority}`;
  if (reserved) {
    const core = plannedCore({ interface: 'deploy', step: step.step, priority: step.priority }, reason);
    merged.set(key, { ...core, ...asked, interface: reserved });
  } else if (facts.advertised && !facts.isStale) {
    throw refused(
      asker,
      `no step ${key}: neither the conductor nor the agent has it (they have ${[...merged.keys()].sort().join(', ')})`,
    );
  } else {
    merged.set(key, { ...plannedAdvertised({ ...step, reboot_requested: false }, true), ...asked, reason });
  }
}

function checkArgs(facts: PlanFacts, asker: Asker, step: RequestedStep): void {
  const driver = facts.drivers?.find((each) => stepKey(each) === stepKey(step));
  const advertised = facts.advertised?.find((each) => stepKey(each) === stepKey(step));
  try {
    if (reservedInterface(step.step, { inDeploy: true })) checkReservedArgs(step.step, step.args);
    else if (driver) {
      if (step.priority > 0) parseStepArgs(driver, step.args);
    } else if (advertised && step.step !== 'write_image') {
      checkArgsInfo(step, advertised.argsinfo, { mayBeDisabled: true, rules: advertised.baton_args });
    } else if (!advertised && step.priority > 0) {
      checkValues(step);
    }
  } catch (cause) {
    throw cause instanceof AppError ? refused(asker, cause.message) : cause;
  }
}

/**
 * The conductor's own steps keep their places: without them, or in another order, a deploy would leave the node on the
 * provisioning network, or boot what has not been written. Only the image may be written earlier or later, as long as
 * the agent runs and the bootloader comes after it; instance_info says what is written.
 */
function requireNoCoreOverride(kind: FlowKind, asker: Asker, request: RequestedStep): void {
  const own = [...kind.opening, ...kind.sorted, ...kind.closing, ...kind.cleanup, rebootAfter(request)];
  const known = own.find((step) => stepKey(step) === stepKey(request));
  if (!known) return;
  const bootloader = kind.sorted.find((step) => step.step === 'prepare_instance_boot');
  const lowest = (bootloader?.priority ?? 0) + 1;
  const highest = kind.inBand?.window?.highest ?? 0;
  const rule = `what may be asked for are the agent's and the drivers' steps, and deploy.write_image without args at priorities ${lowest} to ${highest}`;
  if (known.step !== 'write_image') {
    throw refused(asker, `${stepKey(request)} is the conductor's own step and may not be overridden; ${rule}`);
  }
  if (request.priority < lowest || request.priority > highest) {
    throw refused(asker, `${stepKey(request)} may not have priority ${request.priority}; ${rule}`);
  }
  if (Object.keys(request.args).length > 0) {
    throw refused(asker, `${stepKey(request)} takes no args (${Object.keys(request.args).join(', ')}); ${rule}`);
  }
}

function refused(asker: Asker, what: string): AppError {
  return new AppError('invalid_argument', `${asker.origin === 'request' ? 'deploy_steps' : asker.name}: ${what}`);
}
