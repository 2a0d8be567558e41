import type { AgentStep } from '#agent/context.ts';
import type { ActiveHardware, ActiveManager } from '#agent/hardware/active-hardware.ts';
import { argRules } from '#shared/steps/arg-rules.ts';
import { argsInfo } from '#shared/steps/define-step.ts';
import type { ArgRules, ArgsInfo, DiskLoss, StepKind } from '#shared/wire/step.ts';

/** A step as this agent writes it on the wire. */
export interface WireStep {
  readonly step: string;
  readonly priority: number;
  readonly interface: string;
  readonly reboot_requested: boolean;
  /** Not sent with deploy steps: a deploy is aborted whole. */
  readonly abortable?: boolean;
  readonly argsinfo?: ArgsInfo;
  /** Ours: Ironic keeps them, and makes nothing of them. */
  readonly baton_destroys?: DiskLoss;
  readonly baton_args?: ArgRules;
  readonly baton_must_not_lose_power?: number;
}

/**
 * The step lists of `get_*_steps`, keyed by manager class name. Of steps with one interface and name only one is
 * offered: that of the best support, then of the higher priority, then of the class name that comes first
 * (agent-protocol.md §4.2; Ironic's agent does not look at the interface, so it can't have an `apply_configuration`
 * of both BIOS and RAID).
 */
export function advertisedSteps(hardware: ActiveHardware, kind: StepKind): Record<string, readonly WireStep[]> {
  const winners = new Map<string, Contender>();
  for (const owner of hardware) {
    for (const step of stepsOf(owner, kind)) {
      const best = winners.get(keyOf(step));
      if (!best || beats({ owner, step }, best, kind)) winners.set(keyOf(step), { owner, step });
    }
  }
  return Object.fromEntries(
    hardware.map((owner) => [
      owner.manager.className,
      stepsOf(owner, kind)
        .filter((step) => winners.get(keyOf(step))?.step === step)
        .map((step) => toWire(step, kind)),
    ]),
  );
}

/** Lists who can run a step: best support first, so that the next one may try where the first finds it can't. */
export function stepCandidates(
  hardware: ActiveHardware,
  kind: StepKind,
  wanted: { readonly interface?: string | undefined; readonly step: string },
): readonly AgentStep[] {
  return hardware.flatMap((owner) =>
    stepsOf(owner, kind).filter(
      (step) => step.step === wanted.step && (wanted.interface === undefined || step.interface === wanted.interface),
    ),
  );
}

interface Contender {
  readonly owner: ActiveManager;
  readonly step: AgentStep;
}

function stepsOf({ manager }: ActiveManager, kind: StepKind): readonly AgentStep[] {
  return manager.steps.filter((step) => step.priorities[kind] !== undefined);
}

function keyOf(step: AgentStep): string {
  return `${step.interface}.${step.step}`;
}

function priorityOf(step: AgentStep, kind: StepKind): number {
  return step.priorities[kind] ?? 0;
}

function beats(a: Contender, b: Contender, kind: StepKind): boolean {
  if (a.owner.support !== b.owner.support) return a.owner.support > b.owner.support;
  const ahead = priorityOf(a.step, kind) - priorityOf(b.step, kind);
  return ahead === 0 ? a.owner.manager.className < b.owner.manager.className : ahead > 0;
}

function toWire(step: AgentStep, kind: StepKind): WireStep {
  const argsinfo = argsInfo(step.args);
  const rules = argRules(step.args);
  return {
    step: step.step,
    priority: priorityOf(step, kind),
    interface: step.interface,
    reboot_requested: step.rebootRequested,
    ...(kind === 'deploy' ? {} : { abortable: step.abortable }),
    ...(argsinfo ? { argsinfo } : {}),
    ...(rules ? { baton_args: rules } : {}),
    ...(step.destroys === 'unknown' ? {} : { baton_destroys: step.destroys }),
    ...(step.mustNotLosePower === undefined ? {} : { baton_must_not_lose_power: step.mustNotLosePower }),
  };
}
