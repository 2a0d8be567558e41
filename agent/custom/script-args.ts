import { z } from 'zod';

/** Names that are variables of a shell too: `text` is given as `$BATON_ARG_TEXT`. */
export const argName = /^[a-z][a-z0-9_]{0,62}$/;

const common = { description: z.string().min(1), required: z.boolean().default(false) };
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
  z.strictObject({
    type: z.literal('integer'),
    ...common,
    default: z.int().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
  }),
  z.strictObject({
    type: z.literal('number'),
    ...common,
    default: z.number().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
  }),
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
export function needsArgs(args: Readonly<Record<string, ScriptArg>>): readonly string[] {
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

function textSchema(arg: Extract<ScriptArg, { readonly type: 'string' }>): z.ZodType {
  const pattern = arg.pattern === undefined ? undefined : new RegExp(`^(?:${arg.pattern})$`, 'u');
  return text
    .refine((value) => arg.enum?.includes(value) ?? true, `it must be one of ${arg.enum?.join(', ')}`)
    .refine((value) => pattern?.test(value) ?? true, `it must match ${arg.pattern}`);
}

function isPattern(pattern: string): boolean {
  try {
    return new RegExp(pattern, 'u') instanceof RegExp;
  } catch {
    return false;
  }
}
