import { z } from 'zod';
import { findWrongArgs } from '#conductor/flows/plan/check-arg-rules.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import {
  readCpuSettings,
  readDiskSettings,
  readMemorySettings,
  readNetworkSettings,
} from '#shared/in-band/burnin-settings.ts';
import { readEraseOptions } from '#shared/in-band/erase-options.ts';
import { readInjectedFiles } from '#shared/in-band/injected-file.ts';
import { inBandArgs } from '#shared/in-band/step-args.ts';
import { parseTargetRaidConfig } from '#shared/raid/target-raid-config.ts';
import { parseStepArgs } from '#shared/steps/define-step.ts';
import type { ArgRules, ArgsInfo } from '#shared/wire/step.ts';

interface AskedStep {
  readonly interface: string;
  readonly step: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/**
 * Arguments against what the agent says of them, names and which must be given, and their values. A step that is not to
 * run (priority 0) may lack some, as in Ironic.
 * @throws AppError `invalid_argument` naming step and argument.
 */
export function checkArgsInfo(
  step: AskedStep & { readonly priority: number },
  argsinfo: ArgsInfo | null | undefined,
  options: { readonly mayBeDisabled: boolean; readonly rules?: ArgRules | undefined },
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
  checkValues(step);
  const wrong = findWrongArgs(step.args, options.rules ?? {});
  if (wrong.length > 0) throw new AppError('invalid_argument', `${key}: ${wrong.join('; ')}`);
}

/**
 * Checks values whose grammar the conductor knows, so that no machine has to boot first. Arguments by other names are those
 * of somebody else's step of this name.
 * @throws AppError `invalid_argument` naming step and argument.
 */
export function checkValues({ interface: stepInterface, step, args }: AskedStep): void {
  const key = `${stepInterface}.${step}`;
  // RAID steps of all makers have it
  const raidConfig = stepInterface === 'raid' ? (args['raid_config'] ?? undefined) : undefined;
  if (raidConfig !== undefined) parseTargetRaidConfig(raidConfig, `${key}: raid_config`);
  const shape = inBandArgs[key]?.shape ?? {};
  if (!Object.keys(args).every((name) => Object.hasOwn(shape, name))) return;
  const given = Object.fromEntries(Object.entries(shape).filter(([name]) => args[name] !== undefined));
  const { error } = z.object(given).safeParse(args);
  if (error) throw new AppError('invalid_argument', `${key}: ${describeIssues(error)}`);
}

interface StepSettings {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly driver_info: Readonly<Record<string, unknown>>;
}

const eraseOptions = (node: StepSettings) => readEraseOptions({ ...node, driver_internal_info: {} });

/** Settings that steps read of the node. */
const settingsOf: Readonly<Record<string, (node: StepSettings) => unknown>> = {
  'deploy.burnin_cpu': readCpuSettings,
  'deploy.burnin_disk': readDiskSettings,
  'deploy.burnin_memory': readMemorySettings,
  'deploy.burnin_network': readNetworkSettings,
  'deploy.erase_devices': eraseOptions,
  'deploy.erase_devices_express': eraseOptions,
  'deploy.erase_devices_metadata': eraseOptions,
  'deploy.inject_files': ({ properties }) => readInjectedFiles(properties, []),
};

/**
 * The same for what in-band steps are given by the node in place of arguments.
 * @throws AppError `invalid_argument` naming step and key.
 */
export function checkSettingsOf(step: Pick<AskedStep, 'interface' | 'step'>, node: StepSettings): void {
  const key = `${step.interface}.${step.step}`;
  try {
    settingsOf[key]?.(node);
  } catch (error) {
    // what Baton's agent lacks another one may have
    if (!(error instanceof AppError) || error.code !== 'invalid_argument') return;
    throw new AppError('invalid_argument', `${key}: ${error.message}`);
  }
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

/** Returns the interface under which the conductor keeps it, or `undefined` for a name that is not reserved there. */
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
