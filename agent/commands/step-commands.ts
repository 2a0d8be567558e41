import { z } from 'zod';
import { AgentFault, type FaultType } from '#agent/commands/agent-fault.ts';
import {
  type CommandDefinition,
  type CommandServices,
  commandNode,
  defineCommand,
  nodeParam,
  portsParam,
} from '#agent/commands/command.ts';
import { maskSecrets } from '#agent/commands/mask-secrets.ts';
import type { AgentContext, AgentStep } from '#agent/context.ts';
import { hardwareVersions, versionsMatch } from '#agent/hardware/active-hardware.ts';
import { advertisedSteps, stepCandidates } from '#agent/hardware/select-steps.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { parseStepArgs, type StepOutcome } from '#shared/steps/define-step.ts';
import { HardwareManagerVersion, type StepKind } from '#shared/wire/step.ts';

const failureTypes = {
  deploy: 'DeploymentError',
  clean: 'CleaningError',
  service: 'ServicingError',
} as const satisfies Record<StepKind, FaultType>;

/** `deploy.get_deploy_steps` and its siblings. */
export function getStepsCommand(kind: StepKind): CommandDefinition {
  return defineCommand({
    kind: 'sync',
    params: z.strictObject({ node: nodeParam, ports: portsParam }),
    run: ({ hardware, hardwareProblems = [] }) => {
      // without the list nothing starts; with a list that lacks a step, a node would go out that has not been cleaned
      if (hardwareProblems.length > 0) throw new AgentFault('CommandExecutionError', hardwareProblems.join('; '));
      return Promise.resolve({
        [`${kind}_steps`]: advertisedSteps(hardware, kind),
        hardware_manager_version: hardwareVersions(hardware),
      });
    },
  });
}

const Step = z.looseObject({
  interface: z.string().optional(),
  step: z.string().optional(),
  args: z.record(z.string(), z.unknown()).nullish(),
});

/** `deploy.execute_deploy_step` and its siblings. */
export function executeStepCommand(kind: StepKind): CommandDefinition {
  const versionKey = `${kind}_version` as const;
  return defineCommand({
    kind: 'async',
    label: ({ step }) => {
      const { interface: onInterface, step: name } = Step.parse(step);
      return `${kind} step ${onInterface}.${name}`;
    },
    params: z.strictObject({
      step: Step,
      node: nodeParam,
      ports: portsParam,
      [versionKey]: HardwareManagerVersion.nullish(),
    }),
    run: async (services, params, commandId) => {
      const step = Step.parse(params.step);
      checkVersion(services, HardwareManagerVersion.nullish().parse(params[versionKey]));
      const outcome = await runStep(services, kind, step, {
        run: services.run,
        clock: services.clock,
        log: services.log.child({ step: step.step, commandId }),
        signal: services.signal,
        node: commandNode(services, nodeParam.parse(params.node)),
        ports: portsParam.parse(params.ports) ?? [],
        reportProgress: services.reportProgress(commandId),
        imagePolicy: services.imagePolicy?.() ?? {},
        shareImage: services.shareImage?.(),
        writtenImage: services.writtenImage,
      });
      return {
        [`${kind}_result`]: outcome.output ?? null,
        [`${kind}_step`]: maskSecrets(params.step),
        // ours: only the step knows that this run of it needs a reboot; Ironic goes by `reboot_requested` alone
        ...(outcome.kind === 'reboot' ? { baton_reboot: outcome.reason } : {}),
      };
    },
  });
}

function checkVersion(services: CommandServices, planned: HardwareManagerVersion | null | undefined): void {
  if (versionsMatch(services.hardware, planned)) return;
  const current = JSON.stringify(hardwareVersions(services.hardware));
  throw new AgentFault(
    'VersionMismatch',
    `Current versions: ${current}, versions used by ironic: ${JSON.stringify(planned)}`,
  );
}

/** Runs the step of the best manager that has it, or of the next one where that finds it can't. */
async function runStep(
  services: CommandServices,
  kind: StepKind,
  wanted: z.infer<typeof Step>,
  context: AgentContext,
): Promise<Exclude<StepOutcome, { readonly kind: 'wait' }>> {
  if (wanted.step === undefined) {
    // names only: arguments hold passwords
    const keys = Object.keys(wanted).join(', ') || 'none';
    throw new AgentFault('CommandExecutionError', `Malformed ${kind}_step, no "step" key among its keys: ${keys}`);
  }
  const candidates = stepCandidates(services.hardware, kind, { interface: wanted.interface, step: wanted.step });
  if (candidates.length === 0) {
    throw new AgentFault('HardwareManagerMethodNotFound', `Could not find method: ${wanted.step}`);
  }
  const failures: unknown[] = [];
  for (const candidate of candidates) {
    try {
      return await runCandidate(candidate, context, wanted.args);
    } catch (error) {
      failures.push(error);
      if (!(error instanceof AppError && error.code === 'not_supported')) break;
    }
  }
  const failure = failures.at(-1);
  throw new AgentFault(failureTypes[kind], errorChain(failure), failure);
}

async function runCandidate(
  step: AgentStep,
  context: AgentContext,
  args: unknown,
): Promise<Exclude<StepOutcome, { readonly kind: 'wait' }>> {
  const outcome = await step.run(context, parseStepArgs(step, args));
  if (outcome.kind === 'wait') {
    throw new AppError('internal', `in-band step ${step.step} wants to wait for ${outcome.reason}: it can't`);
  }
  return outcome;
}
