import type { Bmc } from '#conductor/drivers/interfaces.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Priorities of steps that run only when an operator asks for them. */
export const onRequest = { abortable: false, priorities: { deploy: 0, clean: 0, service: 0 } } as const;

/** Finds what the node's BMC has for this. @throws AppError `not_supported` */
export function requireOffered<T>(context: StepContext, find: (bmc: Bmc) => T | undefined): T {
  const offered = find(context.bmc());
  if (offered !== undefined) return offered;
  throw new AppError('not_supported', `driver ${context.node.driver} does not support the step ${context.step.step}`);
}
