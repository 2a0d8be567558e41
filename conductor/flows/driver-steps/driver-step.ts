import type { Bmc } from '#conductor/drivers/interfaces.ts';
import type { ConductorStep, StepContext } from '#conductor/flows/step-context.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { StepDefinition } from '#shared/steps/define-step.ts';

/**
 * An out-of-band step: what a hardware type's BMC can do, at the operator's word or by its own priority. It runs like
 * any conductor's step, with its arguments in `context.step.args`. An outcome `reboot` brings the ramdisk back where the
 * flow has one running; before the ramdisk boots (priority above 100) the step sees to its own reset.
 */
export interface DriverStep
  extends ConductorStep,
    Pick<StepDefinition<never>, 'interface' | 'args' | 'abortable' | 'priorities'> {
  readonly interface: StepDefinition<never>['interface'];
  /** Only where the node's interface has this name: else the step of the same name is the agent's. */
  readonly interfaceName?: string;
  /** Whether this node's BMC can do it; asked of the connection object, not of the BMC. */
  isOffered(bmc: Bmc): boolean;
}

/** Priorities of steps that run only when an operator asks for them. */
export const onRequest = { abortable: false, priorities: { deploy: 0, clean: 0, service: 0 } } as const;

/** Finds what the node's BMC has for this. @throws AppError `not_supported` */
export function requireOffered<T>(context: StepContext, find: (bmc: Bmc) => T | undefined): T {
  const offered = find(context.bmc());
  if (offered !== undefined) return offered;
  throw new AppError('not_supported', `driver ${context.node.driver} does not support the step ${context.step.step}`);
}
