import { AppError } from '#shared/errors/app-error.ts';
import { personPattern } from '#shared/person-pattern.ts';
import type { ArgRule, ArgRules } from '#shared/wire/step.ts';

const typeWords: Readonly<Record<ArgRule['types'][number], string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  null: 'null',
};

/** A pattern is a ramdisk's, which may be anybody's: what takes longer, and all after it, is left to the step. */
const patternMs = 20;

/**
 * Finds arguments that are wrong by what the agent says of their values: `note must be a text, not a list`. Arguments
 * that it says nothing of are left to the step.
 */
export function findWrongArgs(args: Readonly<Record<string, unknown>>, rules: ArgRules): string[] {
  const patience = { isOver: false };
  return Object.entries(args).flatMap(([name, value]) => {
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    const why = rule && whyWrong(value, rule, patience);
    return why === undefined ? [] : [`${name} must ${why}`];
  });
}

function whyWrong(value: unknown, rule: ArgRule, patience: Patience): string | undefined {
  const types = typesOf(value);
  if (!rule.types.some((type) => types.includes(type))) {
    const [own = 'null'] = types;
    return `be ${rule.types.map((type) => typeWords[type]).join(' or ')}, not ${typeWords[own]}`;
  }
  if (typeof value === 'string') {
    if (rule.enum && !rule.enum.includes(value)) return `be one of ${rule.enum.join(', ')}`;
    return rule.pattern === undefined || matches(value, rule.pattern, patience) ? undefined : `match ${rule.pattern}`;
  }
  if (typeof value !== 'number') return undefined;
  if (rule.minimum !== undefined && value < rule.minimum) return `be ${rule.minimum} or more`;
  return rule.maximum !== undefined && value > rule.maximum ? `be ${rule.maximum} or less` : undefined;
}

/** The one that names it first. */
function typesOf(value: unknown): readonly ArgRule['types'][number][] {
  if (value === null) return ['null'];
  if (Array.isArray(value)) return ['array'];
  if (typeof value === 'number') return Number.isInteger(value) ? ['integer', 'number'] : ['number'];
  if (typeof value === 'string' || typeof value === 'boolean') return [typeof value as 'string' | 'boolean'];
  return ['object'];
}

interface Patience {
  isOver: boolean;
}

function matches(value: string, pattern: string, patience: Patience): boolean {
  if (patience.isOver) return true;
  try {
    return personPattern(pattern, 'u', patternMs).test(value);
  } catch (error) {
    patience.isOver = error instanceof AppError;
    return true; // no pattern of ours
  }
}
