import { parse } from 'yaml';
import { z } from 'zod';
import { conditionArguments } from '#conductor/nodes/inspection/rules/conditions.ts';
import { actionArguments } from '#conductor/nodes/inspection/rules/plan-rules.ts';
import type { InspectionRule, RuleCall, Signature } from '#conductor/nodes/inspection-rule.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { listIssues } from '#shared/errors/describe-issues.ts';

const args = z.union([z.record(z.string(), z.unknown()), z.array(z.unknown())], {
  error: 'must be an object or a list',
});

const loop = z.union([z.array(z.unknown()), z.record(z.string(), z.unknown())], {
  error: 'must be a list or an object',
});
const multiple = ['any', 'all', 'first', 'last'] as const;

const callOf = (known: Readonly<Record<string, Signature>>) =>
  z
    .strictObject({
      op: z.string(),
      args: args.default({}),
      loop: loop.optional(),
      multiple: (known === actionArguments ? z.never({ error: 'is for conditions' }) : z.enum(multiple)).optional(),
    })
    .transform(({ op, args: given, ...loops }, context): RuleCall => {
      const signature = known[op.replace(/^!\s*/, '')];
      if (signature === undefined || (op.startsWith('!') && known === actionArguments)) {
        context.addIssue(`op '${op}' is not supported; there are ${Object.keys(known).join(', ')}`);
        return z.NEVER;
      }
      const named = nameArguments(given, signature);
      const missing = signature.required.filter((name) => !(name in named));
      const strange = Object.keys(named).filter(
        (name) => ![...signature.required, ...signature.optional].includes(name),
      );
      if (missing.length > 0) context.addIssue(`${op} needs ${missing.join(', ')}`);
      if (strange.length > 0) context.addIssue(`${op} has no ${strange.join(', ')}`);
      const fault = missing.length === 0 ? signature.fault?.(named) : undefined;
      if (fault !== undefined) context.addIssue(`${op}: ${fault}`);
      return { op, args: named, ...loops };
    });

function nameArguments(given: z.infer<typeof args>, { required, optional }: Signature): Record<string, unknown> {
  if (!Array.isArray(given)) return given;
  // values that are compared may stand in the list itself
  if (required[0] === 'values' && !Array.isArray(given[0])) return { values: given };
  const names = [...required, ...optional];
  return Object.fromEntries(given.map((value, index) => [names[index] ?? `argument ${index + 1}`, value]));
}

const Rules = z
  .array(
    z.strictObject({
      // Ironic's uuid and scope mean nothing for rules of a file, and are ignored
      uuid: z.string().optional(),
      scope: z.null().optional(),
      sensitive: z.boolean().default(true),
      phase: z.literal('main', { error: 'must be main' }).optional(),
      description: z.string().default(''),
      priority: z.int().min(0).default(0),
      conditions: z.array(callOf(conditionArguments)).default([]),
      actions: z.array(callOf(actionArguments)).min(1, 'must have one action at least'),
    }),
    { error: 'must be a list of rules' },
  )
  .transform((rules) =>
    rules.map(
      ({ description, ...rule }, index): InspectionRule => ({
        description: description === '' ? `rule ${index + 1}` : description,
        priority: rule.priority,
        sensitive: rule.sensitive,
        conditions: rule.conditions,
        actions: rule.actions,
      }),
    ),
  );

/** Parses rules, in their order, or lists their faults; values, which may be passwords, are not repeated. */
export function parseRules(given: unknown): { readonly rules: InspectionRule[]; readonly faults: readonly string[] } {
  const parsed = Rules.safeParse(given);
  if (parsed.success) return { rules: parsed.data, faults: [] };
  return { rules: [], faults: listIssues(parsed.error, 'the file') };
}

/**
 * @param fileName for messages
 * @throws AppError `invalid_argument` naming each fault with its place.
 */
export function parseRulesFile(text: string, fileName: string): InspectionRule[] {
  const { rules, faults } = parseRules(parseYaml(text, fileName) ?? []);
  if (faults.length === 0) return rules.sort((one, other) => other.priority - one.priority);
  throw new AppError('invalid_argument', `BATON_INSPECTION_RULES_FILE: ${fileName}: ${faults.join('; ')}`);
}

function parseYaml(text: string, fileName: string): unknown {
  try {
    return parse(text, { prettyErrors: false });
  } catch (error) {
    throw new AppError('invalid_argument', `BATON_INSPECTION_RULES_FILE: ${fileName}: ${errorChain(error)}`);
  }
}
