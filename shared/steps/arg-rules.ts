import { z } from 'zod';
import { ArgRule, type ArgRules } from '#shared/wire/step.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Reads from a step's argument schema what a conductor can check of each value before the machine boots: its types, the
 * values that there are, its pattern and bounds. Anything beyond these is left to the step itself.
 */
export function argRules(schema: z.ZodType): ArgRules | undefined {
  if (!(schema instanceof z.ZodObject)) return undefined;
  const whole: unknown = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const properties = isJsonObject(whole) && isJsonObject(whole['properties']) ? whole['properties'] : {};
  const rules = Object.entries(properties).flatMap(([name, property]): [string, ArgRule][] => {
    const rule = ArgRule.safeParse(isJsonObject(property) ? ruleOf(property) : undefined);
    return rule.success ? [[name, rule.data]] : [];
  });
  return rules.length === 0 ? undefined : Object.fromEntries(rules);
}

/** Joins the types of alternatives (`nullish`), and takes no bounds: they are those of one alternative. */
function ruleOf(property: JsonSchema): unknown {
  const { anyOf: alternatives } = property;
  if (Array.isArray(alternatives)) {
    const types = alternatives.flatMap((each: unknown) => (isJsonObject(each) ? typesOf(each) : [undefined]));
    const known = types.filter((type) => type !== undefined);
    return known.length === types.length ? { types: [...new Set(known)] } : undefined;
  }
  const [type] = typesOf(property);
  if (type === undefined) return undefined;
  const { enum: values, pattern, minimum, maximum } = property;
  return {
    types: [type],
    ...(Array.isArray(values) ? { enum: values.filter((value) => typeof value === 'string') } : {}),
    ...(typeof pattern === 'string' ? { pattern } : {}),
    ...(typeof minimum === 'number' && minimum > Number.MIN_SAFE_INTEGER ? { minimum } : {}),
    ...(typeof maximum === 'number' && maximum < Number.MAX_SAFE_INTEGER ? { maximum } : {}),
  };
}

function typesOf({ type }: JsonSchema): (string | undefined)[] {
  return [typeof type === 'string' ? type : undefined];
}

function isJsonObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
