import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { parseStepArgs } from '#shared/steps/define-step.ts';

export const waitArgs = z.strictObject({
  seconds: z.number().positive().max(86_400).optional().describe('how long; without it until the next heartbeat'),
});
const noArgs = z.strictObject({});

/**
 * Names that an operator may put into a list of steps whatever the machine offers (agent-protocol.md §5.3): the conductor
 * has them. The interface that goes with the name in the request does not matter, as in Ironic. Only `hold` makes sense
 * amid a deploy, whose power the core steps see to.
 */
const reservedSteps: Readonly<Record<string, { interface: 'deploy' | 'power'; inDeploy: boolean; args: z.ZodType }>> = {
  hold: { interface: 'deploy', inDeploy: true, args: noArgs },
  wait: { interface: 'deploy', inDeploy: false, args: waitArgs },
  power_on: { interface: 'power', inDeploy: false, args: noArgs },
  power_off: { interface: 'power', inDeploy: false, args: noArgs },
  reboot: { interface: 'power', inDeploy: false, args: noArgs },
};

/** The interface under which the conductor keeps it, or `undefined` for a name that is not reserved there. */
export function reservedInterface(step: string, options: { readonly inDeploy: boolean }): string | undefined {
  const reserved = Object.hasOwn(reservedSteps, step) ? reservedSteps[step] : undefined;
  return reserved && (reserved.inDeploy || !options.inDeploy) ? reserved.interface : undefined;
}

/** @throws AppError `invalid_argument` naming step and argument, also for a name that is not reserved. */
export function checkReservedArgs(step: string, args: Readonly<Record<string, unknown>>): void {
  const reserved = Object.hasOwn(reservedSteps, step) ? reservedSteps[step] : undefined;
  if (!reserved) throw new AppError('invalid_argument', `${step} is not a conductor step that may be requested`);
  parseStepArgs({ interface: reserved.interface, step, args: reserved.args }, args);
}

/** `deploy.hold`, `power.reboot` … */
export const reservedStepNames: readonly string[] = Object.entries(reservedSteps).map(
  ([step, reserved]) => `${reserved.interface}.${step}`,
);
