import { parse } from 'yaml';
import { z } from 'zod';
import { AppError } from '#shared/errors/app-error.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';
import { personPattern } from '#shared/person-pattern.ts';
import { diskLosses, longestHoldSeconds, stepInterfaces } from '#shared/wire/step.ts';

/** Names that are variables of a shell too: `text` is given as `$BATON_ARG_TEXT`. */
const argName = /^[a-z][a-z0-9_]{0,62}$/;

const common = { description: z.string().min(1), required: z.boolean().default(false) };
const bounds = { minimum: z.number().optional(), maximum: z.number().optional() };
const text = z.string().refine((value) => !value.includes('\0'), 'it must not contain a NUL');

/** One argument of a script step, as the YAML file describes it. */
export const ScriptArg = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('string'),
    ...common,
    default: text.optional(),
    enum: z.array(text).min(1).optional(),
    /** The whole text must match. */
    pattern: z.string().refine(isPattern, 'it must be a regular expression').optional(),
  }),
  z.strictObject({ type: z.literal('integer'), ...common, ...bounds, default: z.int().optional() }),
  z.strictObject({ type: z.literal('number'), ...common, ...bounds, default: z.number().optional() }),
  z.strictObject({ type: z.literal('boolean'), ...common, default: z.boolean().optional() }),
  z.strictObject({ type: z.literal('array'), ...common, default: z.array(z.unknown()).optional() }),
  z.strictObject({ type: z.literal('object'), ...common, default: z.record(z.string(), z.unknown()).optional() }),
]);
export type ScriptArg = z.infer<typeof ScriptArg>;

/** The schema of a step's arguments: no others than these, each of its type, defaults filled in. */
export function argsSchema(args: Readonly<Record<string, ScriptArg>>): z.ZodType<Record<string, unknown>> {
  return z.strictObject(
    Object.fromEntries(
      Object.entries(args).map(([name, arg]) => {
        const schema = valueSchema(arg);
        const optional =
          arg.default !== undefined ? schema.default(arg.default) : arg.required ? schema : schema.optional();
        return [name, optional.describe(arg.description)];
      }),
    ),
  );
}

/** Whether the step can run without being given any arguments. */
function needsArgs(args: Readonly<Record<string, ScriptArg>>): readonly string[] {
  return Object.entries(args)
    .filter(([, arg]) => arg.required && arg.default === undefined)
    .map(([name]) => name);
}

/** The value of `BATON_ARG_…`: text as it is, true and false as 1 and empty, the rest as JSON. */
export function argText(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? '1' : '';
  return JSON.stringify(value);
}

function valueSchema(arg: ScriptArg): z.ZodType {
  switch (arg.type) {
    case 'string':
      return textSchema(arg);
    case 'integer':
    case 'number': {
      const base = arg.type === 'integer' ? z.int() : z.number();
      return base.min(arg.minimum ?? Number.NEGATIVE_INFINITY).max(arg.maximum ?? Number.POSITIVE_INFINITY);
    }
    case 'boolean':
      return z.boolean();
    case 'array':
      return z.array(z.unknown());
    default:
      return z.record(z.string(), z.unknown());
  }
}

function textSchema({ enum: values, pattern }: Extract<ScriptArg, { readonly type: 'string' }>): z.ZodType {
  const matching =
    pattern === undefined
      ? text
      : text
          .refine(personPattern(whole(pattern), 'u').test, `it must match ${pattern}`)
          // told to the conductor
          .meta({ pattern: whole(pattern) });
  // told to the conductor, as far as JSON Schema can tell it
  return values === undefined
    ? matching
    : matching
        .meta({ enum: values })
        .refine((value) => values.includes(value), `it must be one of ${values.join(', ')}`);
}

function whole(pattern: string): string {
  return `^(?:${pattern})$`;
}

function isPattern(pattern: string): boolean {
  try {
    personPattern(pattern, 'u');
    return true;
  } catch {
    return false;
  }
}

const priority = z.int().min(0);

/** A step's place in each kind of flow that has it. In-band deploy steps run while the agent does (DESIGN.md). */
export const StepPriorities = z
  .strictObject({
    deploy: priority.refine(
      (value) => value === 0 || (value >= 41 && value <= 99),
      'it must be 41 to 99, or 0: only when asked for',
    ),
    clean: priority,
    service: priority,
  })
  .partial()
  .refine((kinds) => Object.keys(kinds).length > 0, 'it must have deploy, clean or service');

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
    must_not_lose_power: z.number().int().min(0).max(longestHoldSeconds).optional(),
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
  /** Support: of several steps with one name that of the better support is used; the built-in ones are `generic`. */
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
  throw new AppError('invalid_argument', `${file}: ${describeIssues(parsed.error, 'the file')}`);
}

function parseYaml(text: string, file: string): unknown {
  try {
    return parse(text);
  } catch (cause) {
    throw new AppError('invalid_argument', `${file} is not valid YAML`, { cause });
  }
}
