import { checkArgsInfo, reservedInterface } from '#conductor/flows/plan/step-args.ts';
import type { FlowKind } from '#conductor/model/flows/flow-kind.ts';
import {
  type PlanFacts,
  type PlannedStep,
  type PluginTaskRef,
  plannedAdvertised,
  pluginTaskTitle,
  type RequestedStep,
  rebootAfter,
  stepKey,
} from '#conductor/model/flows/planned-step.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { pluginTaskStep } from '#shared/wire/step.ts';

/** The core step right before which a stage's tasks run, and what that means. */
const anchors = {
  pre_deployment: { step: 'write_image', where: 'in the ramdisk, right before the image is written' },
  post_deployment: { step: 'tear_down_agent', where: 'in the deployed system, after all other steps of the agent' },
} as const;

type Task = RequestedStep & { readonly plugin: PluginTaskRef };

/**
 * Puts the plugins' tasks, in the order given, before their stage's core step: nothing else comes between the tasks of a
 * stage, whatever their postfixes and other steps' priorities (fuel-order.md §3, DESIGN.md).
 * @param steps sorted
 * @throws AppError `invalid_argument` naming plugin and task
 */
export function placePluginSteps(kind: FlowKind, facts: PlanFacts, steps: readonly PlannedStep[]): PlannedStep[] {
  const tasks = facts.requested.filter((step): step is Task => step.plugin !== undefined);
  if (tasks.length === 0) return [...steps];
  if (kind.inBand?.kind !== 'deploy') {
    throw new AppError('invalid_argument', `${pluginTaskTitle(tasks[0]!.plugin)}: plugins' tasks run in deploys only`);
  }
  const stranded = tasks.find(
    ({ plugin }) => !steps.some((step) => stepKey(step) === `deploy.${anchors[plugin.stage].step}`),
  );
  if (stranded) {
    const { where } = anchors[stranded.plugin.stage];
    throw refused(stranded, `it runs ${where}, and no image is, for ${facts.withoutImage ?? 'the plan leaves it out'}`);
  }
  return steps.flatMap((step) => {
    const before = tasks.filter(({ plugin }) => stepKey(step) === `deploy.${anchors[plugin.stage].step}`);
    return [...before.map((task) => planTask(kind, facts, task, step)), step];
  });
}

function planTask(kind: FlowKind, facts: PlanFacts, task: Task, anchor: PlannedStep): PlannedStep {
  const { plugin, args } = task;
  const own = {
    args,
    // inside the agent's window, where tear_down_agent is not
    priority: Math.max(anchor.priority, kind.inBand?.window?.lowest ?? 0),
    origin: 'plugin',
    plugin,
    reason: `${task.reason ?? plugin.place}; ${anchors[plugin.stage].where}`,
  } as const;
  const reboot = rebootAfter({ ...task, priority: own.priority });
  if (stepKey(task) === stepKey(reboot)) return { ...reboot, ...own };
  if (stepKey(task) !== stepKey(pluginTaskStep)) requireAgentStep(kind, task);
  const advertised = facts.advertised?.find((each) => stepKey(each) === stepKey(task));
  if (advertised) {
    try {
      checkArgsInfo({ ...task, priority: own.priority }, advertised.argsinfo, { mayBeDisabled: false });
    } catch (cause) {
      throw cause instanceof AppError ? refused(task, cause.message) : cause;
    }
    return { ...plannedAdvertised(advertised, true), ...own };
  }
  if (facts.advertised && !facts.isStale) throw lacking(facts, task);
  return { ...plannedAdvertised({ ...task, reboot_requested: false }, true), ...own };
}

/** @throws AppError for what is the conductor's: its steps have their places. */
function requireAgentStep(kind: FlowKind, task: Task): void {
  const own = [...kind.opening, ...kind.sorted, ...kind.closing, ...kind.cleanup];
  const isOwn = own.some((step) => stepKey(step) === stepKey(task));
  if (isOwn || reservedInterface(task.step, { inDeploy: false }) !== undefined) {
    throw refused(task, `${stepKey(task)} is the conductor's own step: a task may name the agent's steps only`);
  }
}

function lacking({ advertised = [] }: PlanFacts, task: Task): AppError {
  const has = advertised.map(stepKey).sort().join(', ') || 'none';
  return refused(
    task,
    stepKey(task) === stepKey(pluginTaskStep)
      ? `this node's ramdisk can't run plugins' tasks, its agent has no step ${stepKey(task)} (it has ${has}): build a new ramdisk`
      : `no step ${stepKey(task)}: the agent does not have it (it has ${has})`,
  );
}

function refused({ plugin }: Task, what: string): AppError {
  return new AppError('invalid_argument', `${pluginTaskTitle(plugin)}: ${what}`);
}
