import { mergeSteps } from '#conductor/flows/plan/merge-steps.ts';
import { placePluginSteps } from '#conductor/flows/plan/place-plugin-steps.ts';
import { checkArgsInfo, checkReservedArgs, checkValues, reservedInterface } from '#conductor/flows/plan/step-args.ts';
import type { FlowKind } from '#conductor/model/flows/flow-kind.ts';
import {
  isPowerCycle,
  type PlanFacts,
  type PlannedStep,
  plannedAdvertised,
  plannedCore,
  plannedDriver,
  type RequestedStep,
  rebootAfter,
  stepKey,
  stepTitle,
} from '#conductor/model/flows/planned-step.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { parseStepArgs } from '#shared/steps/define-step.ts';

/**
 * Plans the ordered steps of one flow.
 * @throws AppError `invalid_argument` naming the step and what would be right.
 */
export function planSteps(kind: FlowKind, facts: PlanFacts): PlannedStep[] {
  const main = kind.asRequested ? inRequestedOrder(kind, facts) : byPriority(kind, facts);
  const plan = [
    ...kind.opening
      .filter(({ step }) => !(facts.instanceRuns && step === 'power_off'))
      .map((step) => plannedCore(step)),
    ...main.flatMap((step, index) => (wantsReboot(kind, facts, main, index) ? [step, rebootAfter(step)] : [step])),
    ...kind.closing.map((step) => withWipeArgs(plannedCore(step), facts)),
    ...(facts.wipe ? (kind.beforeWipe ?? []) : []).map((step) => plannedCore(step, 'a wipe follows')),
  ];
  return facts.withoutAgent === undefined ? withKexec(plan, facts) : withoutAgent(plan, facts.withoutAgent, facts);
}

function wantsReboot(kind: FlowKind, { kexec }: PlanFacts, main: readonly PlannedStep[], index: number): boolean {
  if (main[index]?.rebootRequested !== true) return false;
  // what a BMC has staged is done before the machine is given away
  if (!main[index].inBand) return true;
  const usesKexec = kexec !== undefined && kexec.refused === undefined;
  return usesKexec || !isPowerCycle([...main.slice(index + 1), ...kind.closing]);
}

/** The steps that part with the ramdisk say how. */
function withKexec(plan: readonly PlannedStep[], { kexec }: PlanFacts): PlannedStep[] {
  if (!kexec) return [...plan];
  return plan.map((step) => {
    if (step.origin !== 'core' || (step.step !== 'tear_down_agent' && step.step !== 'boot_instance')) return step;
    const reason = `${step.reason}; deploy_boot is ${kexec.asked}`;
    return kexec.refused === undefined
      ? { ...step, args: { deploy_boot: 'kexec' }, reason }
      : { ...step, reason: `${reason}, a reboot here: ${kexec.refused}` };
  });
}

/** Adds the wipe's arguments to the step whose business they are, so that operators see them in it. */
function withWipeArgs(step: PlannedStep, { wipe }: PlanFacts): PlannedStep {
  if (wipe === undefined || stepKey(step) !== 'deploy.wipe_disks') return step;
  return { ...step, args: { preserve_local_storage: wipe.preserveLocalStorage } };
}

/** @param givesBack nothing but a boot was done to the machine, whose instance may run again */
export function planCleanup({ cleanup, giveBack = [] }: FlowKind, givesBack = false): PlannedStep[] {
  return [...cleanup, ...(givesBack ? giveBack : [])].map((step) => plannedCore(step, 'after a failure'));
}

/** Ties of priority: higher first (agent-protocol.md §5.3). */
const interfaceRank: Readonly<Record<string, number>> = {
  network: 8,
  vendor: 7,
  power: 6,
  management: 5,
  firmware: 4,
  deploy: 3,
  bios: 2,
  raid: 1,
};

function byPriority(kind: FlowKind, facts: PlanFacts): PlannedStep[] {
  const steps = mergeSteps(kind, facts)
    .filter((step) => step.priority > 0)
    .sort((a, b) => b.priority - a.priority || rank(b) - rank(a));
  // what an earlier ramdisk offered at a wrong place must not keep a new one from booting
  for (const step of steps) if (!facts.isStale || step.origin !== 'agent') checkWindow(kind, step);
  return placePluginSteps(kind, facts, steps);
}

function rank(step: PlannedStep): number {
  return interfaceRank[step.interface] ?? 0;
}

function checkWindow(kind: FlowKind, step: PlannedStep): void {
  const window = kind.inBand?.window;
  if (!window || !step.inBand || (step.priority >= window.lowest && step.priority <= window.highest)) return;
  throw new AppError(
    'invalid_argument',
    `in-band step ${stepKey(step)} has priority ${step.priority}; it must be ${window.lowest} to ${window.highest}, ` +
      'while the agent runs, or 0 to leave it out',
  );
}

/** Orders steps of manual cleaning and service as the operator lists them. */
function inRequestedOrder(kind: FlowKind, facts: PlanFacts): PlannedStep[] {
  const steps = facts.requested.map((request, index): PlannedStep => {
    const place = {
      priority: 0,
      args: request.args,
      origin: 'request',
      reason: `step ${index + 1} of the request`,
    } as const;
    const reserved = reservedInterface(request.step, { inDeploy: false });
    if (reserved) {
      checkReservedArgs(request.step, request.args);
      return {
        ...plannedCore({ interface: 'deploy', step: request.step, priority: 0 }),
        interface: reserved,
        ...place,
      };
    }
    const driver = facts.drivers?.find((step) => stepKey(step) === stepKey(request));
    if (driver) {
      parseStepArgs(driver, request.args);
      return { ...plannedDriver(driver, ''), ...place };
    }
    const advertised = facts.advertised?.find((step) => stepKey(step) === stepKey(request));
    if (advertised) {
      checkArgsInfo(request, advertised.argsinfo, { mayBeDisabled: false, rules: advertised.baton_args });
      return { ...plannedAdvertised(advertised, false), ...place };
    }
    if (knowsAgentSteps(kind, facts) || !kind.inBand) throw unknownStep(request, facts);
    checkValues(request);
    return { ...plannedAdvertised({ ...request, reboot_requested: false }, false), ...place };
  });
  requirePoweredSteps(steps);
  return steps;
}

/**
 * Returns whether a step that the list lacks is refused. No instance is taken down to learn whether a ramdisk has become
 * another; but an empty list of an earlier boot is that of an agent without the extension, which has said nothing of steps.
 */
function knowsAgentSteps({ giveBack }: FlowKind, { advertised, isStale }: PlanFacts): boolean {
  if (advertised === undefined) return false;
  return !isStale || (giveBack !== undefined && advertised.length > 0);
}

/** A machine that is off has no agent, and nothing else brings it back before the flow's end. */
function requirePoweredSteps(steps: readonly PlannedStep[]): void {
  let offSince: number | undefined;
  for (const [index, step] of steps.entries()) {
    const key = stepKey(step);
    if (key === 'power.power_off') offSince ??= index + 1;
    else if (key === 'power.power_on' || key === 'power.reboot') offSince = undefined;
    else if (offSince !== undefined && (step.inBand || (key === 'deploy.wait' && step.args['seconds'] === undefined))) {
      throw new AppError(
        'invalid_argument',
        `step ${index + 1} of the request, ${key}, needs the agent, but step ${offSince} powers the machine off: ` +
          'put power_on or reboot between them',
      );
    }
  }
}

function unknownStep(step: RequestedStep, { advertised = [], drivers = [], isStale }: PlanFacts): AppError {
  const known = [...drivers, ...advertised].map(stepKey).sort().join(', ');
  const since = isStale
    ? "; the agent's are those of its last boot: where the ramdisk is another one since, a step that it had (or `wait` " +
      'for 1 second) boots it and reads them again'
    : '';
  return new AppError(
    'invalid_argument',
    `no step ${stepKey(step)}: neither the conductor nor the agent has it (they have ${known || 'none'})${since}`,
  );
}

const needsAgent = new Set([
  'boot_ramdisk',
  'collect_inventory',
  'finalize_rescue',
  'reboot_ramdisk',
  'write_image',
  'tear_down_agent',
  'wipe_disks',
  // of what was not wiped there is nothing to sign
  'sign_receipt',
]);

/** The same plan for a machine that boots no ramdisk: in-band steps are refused, the core ones left out. */
function withoutAgent(
  plan: readonly PlannedStep[],
  why: string,
  { isFake = false, isRamdisk = false }: Pick<PlanFacts, 'isFake' | 'isRamdisk'>,
): PlannedStep[] {
  const inBand = plan.filter(
    (step) => step.plugin ?? (step.inBand && step.origin !== 'core' && step.origin !== 'agent'),
  );
  if (inBand.length > 0) {
    const titles = inBand.map(stepTitle).join(', ');
    const noDriver = inBand.some((step) => step.plugin) ? '' : "the node's driver does not offer it, and ";
    throw new AppError('invalid_argument', `${titles}: ${noDriver}no agent runs there, for ${why}`);
  }
  const instead = plannedCore(
    isFake
      ? { interface: 'deploy', step: 'fake_deploy', priority: 100 }
      : { interface: 'power', step: 'power_off', priority: 100 },
    `no ramdisk is booted, for ${why}`,
  );
  return (
    plan
      .filter((step) => !(step.origin === 'core' ? needsAgent.has(step.step) : step.inBand))
      // a ramdisk that is the instance is set up each time that it is booted
      .filter((step) => !(isFake || isRamdisk) || stepKey(step) !== 'deploy.prepare_instance_boot')
      .map((step) => (stepKey(step) === 'deploy.deploy' ? instead : { ...step, inBand: false }))
  );
}
