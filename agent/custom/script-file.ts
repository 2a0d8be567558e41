import { parse } from 'yaml';
import { z } from 'zod';
import { argName, needsArgs, ScriptArg } from '#agent/custom/script-args.ts';
import { StepPriorities } from '#agent/custom/step-priorities.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { diskLosses, stepInterfaces } from '#shared/wire/step.ts';

const name = z.string().regex(/^[a-z][a-z0-9_]{0,62}$/, 'lower-case letters, digits and _, a letter first');
const argv = z.tuple([z.string().min(1)], z.string());
const ScriptStep = z
  .strictObject({
    interface: z.enum(stepInterfaces),
    step: name,
    description: z.string().min(1),
    priority: StepPriorities,
    destroys: z.enum(diskLosses).or(z.literal('unknown')).default('unknown'),
    abortable: z.boolean().default(false),
    reboot_requested: z.boolean().default(false),
    /** Seconds. */
    timeout: z.number().positive().max(86_400).default(600),
    args: z.record(z.string().regex(argName, 'lower-case letters, digits and _'), ScriptArg).default({}),
    command: argv,
  })
  .superRefine((step, context) => {
    const needed = needsArgs(step.args);
    const automatic = Object.entries(step.priority).filter(([, value]) => value !== undefined && value > 0);
    if (needed.length === 0 || automatic.length === 0) return;
    const kinds = automatic.map(([kind]) => kind).join(', ');
    context.addIssue(
      `with a priority for ${kinds} it runs without being asked for: ${needed.join(', ')} need a default`,
    );
  });
export type ScriptStep = z.infer<typeof ScriptStep>;

/** One YAML file of `steps.d`: a hardware manager whose steps are programs. */
export const ScriptFile = z.strictObject({
  /** Raised when a flow under way must not mix old and new steps; beside it the files' own bytes count. */
  version: z.string().min(1).default('1'),
  /** Of several steps with one name that of the better support is used; the built-in ones are `generic`. */
  support: z.enum(['generic', 'mainline', 'service_provider']).default('mainline'),
  /** Says by its exit code whether this is its machine: 0 or 1. Without it every machine is. */
  supported: argv.optional(),
  steps: z.array(ScriptStep).min(1),
});
export type ScriptFile = z.infer<typeof ScriptFile>;

/** @throws AppError `invalid_argument` naming the file and all that is wrong in it */
export function parseScriptFile(text: string, file: string): ScriptFile {
  const parsed = ScriptFile.safeParse(parseYaml(text, file));
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.') || 'the file'}: ${issue.message}`);
  throw new AppError('invalid_argument', `${file}: ${faults.join('; ')}`);
}

function parseYaml(text: string, file: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    throw new AppError('invalid_argument', `${file} is not valid YAML`, { cause });
  }
}
