import { runAgentStep, runPluginTask } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import { driverSteps, offeredSteps } from '#conductor/flows/driver-steps/index.ts';
import type { ConductorStep, StepTable } from '#conductor/flows/step-context.ts';

export function createStepTable(conductorSteps: readonly ConductorStep[]): StepTable {
  return {
    find: (step, kind) => {
      const isIt = (each: ConductorStep): boolean => each.interface === step.interface && each.step === step.step;
      const known = conductorSteps.find(isIt) ?? (step.inBand ? undefined : driverSteps.find(isIt));
      // an agent may call its steps as it likes: in a list of its own, `write_image` is the agent's
      const isOurs =
        !step.inBand ||
        step.origin === 'core' ||
        (step.origin === 'plugin' && known === runPluginTask) ||
        [...kind.sorted, ...kind.opening].some((each) => each.step === step.step);
      if (known && isOurs) return known;
      // a core step has a part of the conductor's own: the agent can't do all of it
      return step.inBand && step.origin !== 'core' ? runAgentStep : undefined;
    },
    offered: offeredSteps,
  };
}
