import { z } from 'zod';
import { reportedFault } from '#conductor/agents/agent-fault.ts';
import { findCommand } from '#conductor/agents/find-command.ts';
import { dumpNode, dumpPorts } from '#conductor/agents/node-dump.ts';
import { inBandHoldMs } from '#conductor/flows/bmc/hold-in-band.ts';
import { prolongHold } from '#conductor/flows/bmc/hold-power.ts';
import {
  type ConductorStep,
  type ConductorStepOutcome,
  type StepContext,
  stepArgs,
} from '#conductor/flows/step-context.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import { AppError, errorChain, errorCode, faultOf, isRetryable } from '#shared/errors/app-error.ts';
import type { Situation } from '#shared/errors/fault-codes.ts';
import type { CommandRequest, CommandResult } from '#shared/wire/agent-calls.ts';
import { pluginTaskStep, type StepRequest } from '#shared/wire/step.ts';

/** How often a running command is asked about when no heartbeat says that it has ended. */
const checkEveryMs = 15_000;

/** Baton's agent: this run of the step needs a reboot, whatever its definition says. */
const RebootRequest = z.looseObject({ baton_reboot: z.string() });

/** Has the agent run a step: any in-band one, under its own name. */
export const runAgentStep: Pick<ConductorStep, 'run' | 'resume' | 'mustNotLosePower'> = {
  mustNotLosePower: (context) => inBandHoldMs(context),
  run: (context) => startAgentStep(context, stepArgs(context)),
  resume: checkAgentStep,
};

/**
 * Sends the step under the flow step's uuid. An agent that has the command already (the answer or this conductor was
 * lost) answers with it and starts nothing.
 */
async function startAgentStep(
  context: StepContext,
  args: Readonly<Record<string, unknown>>,
): Promise<ConductorStepOutcome> {
  return (await resumeAgentStep(context)) ?? sendAgentStep(context, args);
}

/** Finds out what became of the step, if it was sent before; `undefined` = it is to be sent. */
export async function resumeAgentStep(context: StepContext): Promise<ConductorStepOutcome | undefined> {
  return resumeStarted(context, inBandOf(context).executeCommand);
}

/**
 * Sends the step, which the agent does not have, and reads its first answer.
 * @param as the agent's step, where it has another name than ours
 */
export async function sendAgentStep(
  context: StepContext,
  args: Readonly<Record<string, unknown>>,
  as: Pick<StepRequest, 'interface' | 'step'> = context.step,
): Promise<ConductorStepOutcome> {
  const { flow, step } = context;
  const inBand = inBandOf(context);
  const request: StepRequest = {
    interface: as.interface,
    step: as.step,
    args,
    priority: step.priority,
    reboot_requested: step.rebootRequested,
    abortable: step.abortable,
    baton_command_id: step.uuid,
  };
  return sendCommand(context, {
    name: inBand.executeCommand,
    params: {
      step: request,
      node: dumpNode(context.secrets, context.node, flow),
      ports: dumpPorts(await context.ports()),
      [inBand.versionKey]: flow.hardwareManagerVersion,
    },
  });
}

export function inBandOf({ flow }: StepContext) {
  const { inBand } = flowKinds[flow.kind];
  if (!inBand) throw new AppError('internal', `a ${flow.kind} flow has no in-band steps`);
  return inBand;
}

/** @param timeoutMs for the answer, of a command that some agents end before they answer */
export async function sendCommand(
  context: StepContext,
  command: CommandRequest,
  timeoutMs?: number,
): Promise<ConductorStepOutcome> {
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  return readCommand(context, await context.agent().post(command, { wait: false, ...options }));
}

/**
 * Finds out what became of a command that was sent before this conductor or the answer was lost: a real
 * ironic-python-agent would start it twice, and while it runs no agent takes another. `undefined` = the agent does not
 * have it.
 */
export async function resumeStarted(context: StepContext, name: string): Promise<ConductorStepOutcome | undefined> {
  if (!context.isRepeated) return undefined;
  const list = await context.agent().list();
  // what met another version did nothing: cleaning has restarted since
  const acted = list.filter(({ command_status: status }) => !status.endsWith('VERSION_MISMATCH'));
  const known = findCommand(acted, context.step.uuid, name);
  return known && readCommand(context, known);
}

/** Asks the agent what became of the step. */
export async function checkAgentStep(context: StepContext): Promise<ConductorStepOutcome> {
  return checkCommand(context, flowKinds[context.flow.kind].inBand?.executeCommand ?? '');
}

/** Asks the agent what became of a command of this step. */
export async function checkCommand(context: StepContext, name: string): Promise<ConductorStepOutcome> {
  let commands: CommandResult[];
  try {
    commands = await context.agent().list();
  } catch (error) {
    // one answer without sense is no reason to stop what may have run for days: heartbeats say that it lives
    const mayPass = isRetryable(error) || errorCode(error) === 'agent_error';
    if (!mayPass || agentIsLost(context)) throw giveUp(context, error);
    return wait(context, `the agent to answer again (${errorChain(error)})`, silenceOf(error));
  }
  const command = findCommand(commands, context.step.uuid, name);
  if (command?.command_status === 'RUNNING') await prolongHold(context, context.step.uuid);
  return command
    ? readCommand(context, command)
    : {
        kind: 'again',
        reason: 'the agent has forgotten the command: sent again',
        code: 'agent_silent',
        timeoutMs: 60_000,
        checkEveryMs: 1,
      };
}

/** A machine that somebody has switched amid the flow is silent for that reason. */
function silenceOf(error: unknown): Situation {
  return faultOf(error).code === 'power_switched' ? 'power_switched' : 'agent_silent';
}

/** Heartbeats show whether an agent that can't be reached is alive at all. */
function agentIsLost(context: StepContext): boolean {
  const last = context.session?.lastHeartbeatAt?.getTime() ?? 0;
  return context.clock.now().getTime() - last > context.config.callbackTimeoutMs;
}

function giveUp(context: StepContext, cause: unknown): AppError {
  const last = context.session?.lastHeartbeatAt?.toISOString() ?? 'never';
  const details = { mayBeUnderWay: true };
  const situation = silenceOf(cause);
  return new AppError('agent_error', `the agent is lost (last heartbeat ${last})`, { cause, details, situation });
}

function readCommand(context: StepContext, command: CommandResult): ConductorStepOutcome {
  switch (command.command_status) {
    case 'RUNNING':
      return wait(context, `the agent to finish ${context.step.step}`, 'step_under_way');
    case 'SUCCEEDED': {
      const reboot = RebootRequest.safeParse(command.command_result);
      const output = ownResult(command.command_result);
      return reboot.success ? { kind: 'reboot', reason: reboot.data.baton_reboot, output } : { kind: 'done', output };
    }
    case 'CLEAN_VERSION_MISMATCH':
    case 'VERSION_MISMATCH':
      throw new AppError('version_mismatch', 'the agent came back with other hardware manager versions', {
        situation: 'other_ramdisk',
      });
    default: {
      const { details, message } = command.command_error ?? {};
      const text = details ?? message ?? `command ended as ${command.command_status}`;
      throw new AppError('agent_error', text, reportedFault(command));
    }
  }
}

/** The agent repeats the step, config drive and passwords included: only what the step answered is kept. */
function ownResult(result: unknown): unknown {
  if (typeof result !== 'object' || result === null) return null;
  const own = Object.entries(result).find(([key]) => key === 'result' || key.endsWith('_result'));
  return own ? own[1] : null;
}

function wait(context: StepContext, reason: string, code: Situation): ConductorStepOutcome {
  const { stepTimeoutMs, callbackTimeoutMs } = context.config;
  const ownTimeout = context.step.plugin?.timeout;
  return {
    kind: 'wait',
    reason,
    code,
    timeoutMs: ownTimeout === undefined ? stepTimeoutMs : Math.min(stepTimeoutMs, ownTimeout * 1000),
    // an agent that is lost must be noticed, though nothing comes from it
    checkEveryMs: Math.min(checkEveryMs, callbackTimeoutMs / 2),
  };
}

export const runPluginTask: ConductorStep = {
  ...pluginTaskStep,
  description: "Has the agent run a shell task of a site's plugin.",
  run: async (context) => {
    const { plugin } = context.step;
    if (!plugin) throw new AppError('internal', `step ${context.step.uuid} does not name the plugin of its task`);
    const started = await resumeAgentStep(context);
    if (started) return started;
    // read when they are sent, and kept in no plan: a site has as many steps of a plugin as it has nodes
    return context.pluginFiles.take(context.signal, async (read) =>
      sendAgentStep(context, {
        ...stepArgs(context),
        node_name: context.node.name ?? '',
        plugin_files: await context.ask(read(plugin)),
      }),
    );
  },
  resume: checkAgentStep,
};
