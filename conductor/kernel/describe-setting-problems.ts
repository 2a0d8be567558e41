import { z } from 'zod';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Describes what is wrong with settings and what would be right. Pure.
 * @param shape their schemas by name
 * @param environment with the values as they were given
 */
export function describeSettingProblems(
  issues: readonly z.core.$ZodIssue[],
  shape: Readonly<Record<string, z.ZodType>>,
  environment: Environment,
): string[] {
  return issues.map((issue) => {
    const name = issue.path.join('.');
    const schema = shape[name];
    // zod speaks of NaN where a number was wanted, and of the value nowhere
    const isNumber = ['invalid_type', 'too_small', 'too_big', 'not_multiple_of'].includes(issue.code);
    const right = isNumber && schema ? rightNumber(name, schema) : undefined;
    return `${name}: ${right === undefined ? issue.message : `${right}, not '${environment[name] ?? ''}'`}`;
  });
}

/** Describes the right number, `must be a port number (0 to 65535)`; `undefined` for a setting that is no number. */
function rightNumber(name: string, schema: z.ZodType): string | undefined {
  const { type, minimum, exclusiveMinimum, maximum } = z.toJSONSchema(schema, { unrepresentable: 'any' });
  if (type !== 'integer' && type !== 'number') return undefined;
  const what = name.endsWith('_PORT') ? 'port number' : type === 'integer' ? 'whole number' : 'number';
  const isBounded = maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER;
  if (minimum !== undefined && isBounded) return `must be a ${what} (${minimum} to ${maximum})`;
  if (exclusiveMinimum !== undefined) return `must be a ${what} above ${exclusiveMinimum}`;
  return `must be a ${what}${minimum === undefined ? '' : `, ${minimum} or more`}`;
}
