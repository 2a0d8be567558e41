import { AppError } from '#shared/errors/app-error.ts';
import { parseTargetRaidConfig } from '#shared/raid/target-raid-config.ts';
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
