import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { parseTargetRaidConfig } from '#shared/raid/target-raid-config.ts';
import { parseStepArgs } from '#shared/steps/define-step.ts';
import type { ArgsInfo } from '#shared/wire/step.ts';

/**
 * Arguments against what the agent says of them: names and which must be given, and of their values a RAID configuration
 * (the others the step itself checks before it acts). A step that is not to run (priority 0) may lack some, as in Ironic.
 * @throws AppError `invalid_argument` naming step and argument.
 */
export function checkArgsInfo(
  step: {
    readonly interface: string;
    readonly step: string;
    readonly priority: number;
    readonly args: Readonly<Record<string, unknown>>;
  },
  argsinfo: ArgsInfo | null | undefined,
  options: { readonly mayBeDisabled: boolean },
): void {
  const key = `${step.interface}.${step.step}`;
  const known = argsinfo ?? {};
  const unknown = Object.keys(step.args).filter((name) => !Object.hasOwn(known, name));
  if (unknown.length > 0) {
    const takes = Object.keys(known).join(', ') || 'none';
    throw new AppError('invalid_argument', `${key}: unknown argument ${unknown.join(', ')}; it takes ${takes}`);
  }
  if (options.mayBeDisabled && step.priority === 0) return;
  const missing = Object.entries(known)
    .filter(([name, info]) => info.required === true && step.args[name] === undefined)
    .map(([name]) => name);
  if (missing.length > 0) {
    throw new AppError('invalid_argument', `${key}: argument ${missing.join(', ')} must be given`);
  }
  // what both sides know the grammar of is no business of a machine that has to boot first
  const raidConfig = step.interface === 'raid' ? step.args['raid_config'] : undefined;
  if (raidConfig !== undefined && raidConfig !== null) parseTargetRaidConfig(raidConfig, `${key}: raid_config`);
}

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
