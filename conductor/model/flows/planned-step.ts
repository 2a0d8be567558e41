import type { z } from 'zod';
import type { CoreStep } from '#conductor/model/flows/flow-kind.ts';
import type { FlowStepOrigin, FlowStepPhase, FlowStepState, WipeRequest } from '#conductor/model/flows/flow-states.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import type { AdvertisedStep, DiskLoss, StepInterface } from '#shared/wire/step.ts';

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
  /** Contents of disks that an in-band step says it destroys. */
  readonly destroys?: DiskLoss | undefined;
  /** Why it is there and there, for the operator. */
  readonly reason: string;
  readonly plugin?: PluginTaskRef;
}

/** A plugin's task, as a step of a deploy. */
export interface PluginTaskRef {
  readonly plugin: string;
  readonly version: string;
  /** Hash of the plugin's tasks and files (`contentHash`): which upload of that version is meant. */
  readonly content?: string | undefined;
  /** Place in the plugin's `tasks.yaml`, from 1. */
  readonly task: number;
  readonly stage: 'pre_deployment' | 'post_deployment';
  /** The stage as `tasks.yaml` has it: `post_deployment/100`. */
  readonly place: string;
  /** Seconds, where the conductor and not the task's own process is to be stopped by it. */
  readonly timeout?: number | undefined;
}

/** Writes `plugin ntp: task 2 (post_deployment/100)` */
export function pluginTaskTitle({ plugin, task, place }: PluginTaskRef): string {
  return `plugin ${plugin}: task ${task} (${place})`;
}

/** Gives the step's name for people: the plugin's task that it is, else its key. */
export function stepTitle(step: {
  readonly interface: string;
  readonly step: string;
  readonly plugin?: PluginTaskRef | null | undefined;
}): string {
  return step.plugin ? pluginTaskTitle(step.plugin) : stepKey(step);
}

/** Writes `deploy.write_image`, `power.power_off (clean-up)`, `plugin ntp: task 2 (post_deployment/100)`. */
export function stepName(step: Parameters<typeof stepTitle>[0] & { readonly phase: string }): string {
  return `${stepTitle(step)}${step.phase === 'cleanup' ? ' (clean-up)' : ''}`;
}

/** A step that the operator, or a template, asks for. */
export interface RequestedStep {
  /** Its place is the task's among the plugins' tasks; its priority has no meaning. */
  readonly plugin?: PluginTaskRef;
  readonly interface: string;
  readonly step: string;
  readonly args: JsonObject;
  readonly priority: number;
  /** The reason why a plugin's task stands at its place among the others. */
  readonly reason?: string;
}

/** A step that the node's hardware type offers, with its priority in this kind of flow. */
export interface OfferedDriverStep {
  readonly interface: StepInterface;
  readonly step: string;
  readonly priority: number;
  readonly abortable: boolean;
  readonly args: z.ZodType;
}

export interface PlanFacts {
  /**
   * The agent's list, or `undefined` before its first heartbeat: requested steps that only the agent can know are then
   * left for the second planning.
   */
  readonly advertised?: readonly AdvertisedStep[] | undefined;
  /** The list is that of an earlier boot: what it lacks may be there now. */
  readonly isStale?: boolean;
  readonly drivers?: readonly OfferedDriverStep[];
  /** By `interface.step`: the conductor's setting in place of the priorities of offered steps. */
  readonly priorities?: ReadonlyMap<string, number>;
  /** Deploy templates whose names are among the instance's traits, by name. */
  readonly templates?: readonly { readonly name: string; readonly steps: readonly RequestedStep[] }[];
  readonly requested: readonly RequestedStep[];
  readonly wipe?: WipeRequest | undefined;
  /** No ramdisk is booted, and why: the node boots from a volume, the operator wants none. */
  readonly withoutAgent?: string | undefined;
  /** Why the conductor writes no image by itself; `deploy.write_image` may still be asked for. */
  readonly withoutImage?: string | undefined;
  /** It is to go into the written system by kexec; `refused` = why it is rebooted all the same. */
  readonly kexec?: { readonly asked: 'kexec' | 'auto'; readonly refused?: string | undefined } | undefined;
  /** The instance was left running: it is not powered off before it is brought back. */
  readonly instanceRuns?: boolean;
  /** Nothing is done at the machine but what its fake BMC does: `withoutAgent` says why. */
  readonly isFake?: boolean;
  /** The instance is booted from a ramdisk or an ISO, and nothing is written. */
  readonly isRamdisk?: boolean;
}

/** Ironic's key of a step: interface and name. */
/**
 * Returns whether the machine is powered off and on by what follows, without the ramdisk: as good as the reboot that a step
 * asks for, and minutes shorter.
 */
export function isPowerCycle(rest: readonly { readonly step: string; readonly args?: JsonObject }[]): boolean {
  const [next] = rest;
  const leaves = next?.step === 'tear_down_agent' && next.args?.['deploy_boot'] !== 'kexec';
  return leaves && rest.some(({ step }) => step === 'boot_instance');
}

export function stepKey(step: { readonly interface: string; readonly step: string }): string {
  return `${step.interface}.${step.step}`;
}

function placeOf({ interface: kind, step, priority }: Pick<PlannedStep, 'interface' | 'step' | 'priority'>) {
  return { interface: kind, step, priority, args: {} };
}

export function plannedCore(step: CoreStep, reason = "the conductor's own step"): PlannedStep {
  return {
    ...placeOf(step),
    origin: 'core',
    inBand: step.inBand !== undefined,
    abortable: true,
    rebootRequested: false,
    ...step.inBand,
    reason,
  };
}

/** @param abortable what holds where the agent does not say: a deploy is aborted whole, a cleaning step is not */
export function plannedAdvertised(step: AdvertisedStep, abortable: boolean): PlannedStep {
  return {
    ...placeOf(step),
    origin: 'agent',
    inBand: true,
    abortable: step.abortable ?? abortable,
    rebootRequested: step.reboot_requested,
    destroys: step.baton_destroys,
    reason: `the agent offers it at priority ${step.priority}`,
  };
}

export function plannedDriver(step: OfferedDriverStep, reason: string): PlannedStep {
  return {
    ...placeOf(step),
    origin: 'driver',
    inBand: false,
    abortable: step.abortable,
    // it sees to its own resets
    rebootRequested: false,
    reason,
  };
}

/** Finds the step that brings the ramdisk back after a step that reboots. */
export function rebootAfter(
  step: Pick<PlannedStep, 'interface' | 'step' | 'priority'> & { readonly plugin?: PluginTaskRef | null },
): PlannedStep {
  return plannedCore(
    { interface: 'deploy', step: 'reboot_ramdisk', priority: step.priority },
    `${stepTitle(step)} wants a reboot`,
  );
}

export interface SkipFacts {
  readonly phase: FlowStepPhase | (string & {});
  readonly origin: FlowStepOrigin | (string & {});
  readonly step: string;
  readonly state: FlowStepState | (string & {});
  readonly inBand: boolean;
  /** It met a fault, and is run again. */
  readonly runAgain: boolean;
}

/** Origins of steps that somebody asked for beyond what the flow needs. */
const asked: ReadonlySet<string> = new Set(['request', 'template', 'plugin'] satisfies FlowStepOrigin[]);

/**
 * Explains why a step of a flow may not be left out; `undefined` = it may. Without the conductor's, the drivers' and the
 * agent's own a node would come out as something else than its flow says, half-deployed or not erased. Pure.
 */
export function whyNotSkipped({ phase, origin, step, state, inBand, runAgain }: SkipFacts): string | undefined {
  if (phase !== 'main' || !asked.has(origin) || step === 'write_image')
    return 'only what a request, a template or a plugin asks for beyond the flow itself may be skipped';
  if (state === 'pending') return undefined;
  if (state !== 'running' && state !== 'waiting') return `it has ended: ${state}`;
  if (runAgain && !inBand) return undefined;
  return inBand ? 'the agent may be at work on it; abort the flow' : 'it is under way; abort the flow';
}
