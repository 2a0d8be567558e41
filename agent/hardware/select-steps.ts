import type { ActiveHardware, ActiveManager } from '#agent/hardware/active-hardware.ts';
import type { AgentStep, OfferedStep, StepKind } from '#agent/hardware/hardware-manager.ts';
import { argsInfo } from '#shared/steps/define-step.ts';
import type { ArgsInfo } from '#shared/wire/step.ts';

/** A step as this agent writes it on the wire. */
export interface WireStep {
  readonly step: string;
  readonly priority: number;
  readonly interface: string;
  readonly reboot_requested: boolean;
  /** Not told of deploy steps: a deploy is aborted whole. */
  readonly abortable?: boolean;
  readonly argsinfo?: ArgsInfo;
}

/**
 * The step lists of `get_*_steps`, keyed by manager class name. Of steps with one interface and name only one is
 * offered: that of the best support, then of the higher priority, then of the class name that comes first
 * (agent-protocol.md §4.2; Ironic's agent does not look at the interface, so it can't have an `apply_configuration`
 * of both BIOS and RAID).
 */
export function advertisedSteps(hardware: ActiveHardware, kind: StepKind): Record<string, readonly WireStep[]> {
  const winners = new Map<string, { readonly owner: ActiveManager; readonly offered: OfferedStep }>();
  for (const owner of hardware) {
    for (const offered of owner.manager.steps[kind]) {
      const best = winners.get(keyOf(offered));
      if (!best || beats({ owner, offered }, best)) winners.set(keyOf(offered), { owner, offered });
    }
  }
  return Object.fromEntries(
    hardware.map((owner) => [
      owner.manager.className,
      owner.manager.steps[kind]
        .filter((offered) => winners.get(keyOf(offered))?.offered === offered)
        .map((offered) => toWire(offered, kind)),
    ]),
  );
}

/** Who can run a step: best support first, so that the next one may try where the first finds it can't. */
export function stepCandidates(
  hardware: ActiveHardware,
  kind: StepKind,
  wanted: { readonly interface?: string | undefined; readonly step: string },
): readonly AgentStep[] {
  return hardware.flatMap(({ manager }) =>
    manager.steps[kind]
      .map(({ step }) => step)
      .filter(
        (step) => step.step === wanted.step && (wanted.interface === undefined || step.interface === wanted.interface),
      ),
  );
}

interface Contender {
  readonly owner: ActiveManager;
  readonly offered: OfferedStep;
}

function keyOf({ step }: OfferedStep): string {
  return `${step.interface}.${step.step}`;
}

function beats(a: Contender, b: Contender): boolean {
  if (a.owner.support !== b.owner.support) return a.owner.support > b.owner.support;
  if (a.offered.priority !== b.offered.priority) return a.offered.priority > b.offered.priority;
  return a.owner.manager.className < b.owner.manager.className;
}

function toWire({ step, priority }: OfferedStep, kind: StepKind): WireStep {
  const argsinfo = argsInfo(step.args);
  return {
    step: step.step,
    priority,
    interface: step.interface,
    reboot_requested: step.rebootRequested,
    ...(kind === 'deploy' ? {} : { abortable: step.abortable }),
    ...(argsinfo ? { argsinfo } : {}),
  };
}
