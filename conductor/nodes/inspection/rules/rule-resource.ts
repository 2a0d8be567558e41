import { asc, desc } from 'drizzle-orm';
import { RuleDescription, ruleFields } from '#conductor/api/templates.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { type InspectionRuleRow, inspectionRules, type StoredRuleCall } from '#conductor/kernel/db/schema/template.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { parseRules } from '#conductor/nodes/inspection/rules/rules-file.ts';
import type { InspectionRule } from '#conductor/nodes/inspection-rule.ts';
import type { Resource } from '#conductor/nodes/resources/resource.ts';
import { AppError, errorChain, errorCode } from '#shared/errors/app-error.ts';

/** Rules of the API. A sensitive one's conditions and actions are sealed, and shown to nobody. */
export const ruleResource: Resource<InspectionRuleRow> = {
  ...ruleFields,
  table: inspectionRules,
  description: RuleDescription,
  label: 'uuid',
  views: {
    conditions: ({ sensitive, conditions }) => (sensitive ? null : conditions),
    actions: ({ sensitive, actions }) => (sensitive ? null : actions),
  },
  admit: (_, { before, after }) => {
    if (!after) return;
    if (before?.sensitive && !after.sensitive) throw new AppError('invalid_argument', unsetRule);
    requireRule(after);
  },
  open: (secrets, row) => ({ ...row, ...openBody(secrets, row) }),
  seal: (secrets, after, before) => {
    if (!after.sensitive) return {};
    const body = bodyOf(after);
    const isKept = before?.sealed && body === bodyOf(before);
    const sealed = isKept ? before.sealed : secrets.seal(body, rulePlace(before?.uuid ?? after.uuid ?? ''));
    return { sealed, conditions: [], actions: [] };
  },
};

const unsetRule =
  '/sensitive: must stay true, or what nobody is shown would be: delete the rule, and create it again without';

function bodyOf({ conditions = [], actions = [] }: Partial<InspectionRuleRow>): string {
  return JSON.stringify({ conditions, actions });
}

export function rulePlace(uuid: string): string {
  return `inspection rule ${uuid}`;
}

/** @throws AppError `invalid_argument` naming condition or action. */
function requireRule({ conditions = [], actions = [] }: Partial<InspectionRuleRow>): void {
  const { faults } = parseRules([{ conditions, actions }]);
  if (faults.length > 0)
    throw new AppError('invalid_argument', faults.map((fault) => fault.replace(/^0\./, '')).join('; '));
}

/** Rules that are stored, and why some of them can't be read. */
export interface StoredRules {
  readonly rules: readonly InspectionRule[];
  readonly faults: readonly string[];
}

/** The highest priority first. */
export async function readStoredRules(db: Queryable, secrets: Secrets): Promise<StoredRules> {
  const rows = await db.select().from(inspectionRules).orderBy(desc(inspectionRules.priority), asc(inspectionRules.id));
  const read = rows.map((row): StoredRules => {
    const { priority, sensitive } = row;
    const description = row.description ?? row.uuid;
    try {
      const { rules, faults } = parseRules([{ description, priority, sensitive, ...openBody(secrets, row) }]);
      return { rules, faults: faults.map((fault) => `${description}: ${fault.replace(/^0\./, '')}`) };
    } catch (error) {
      if (errorCode(error) !== 'invalid_argument') throw error;
      return { rules: [], faults: [`${description}: ${errorChain(error)}`] };
    }
  });
  return { rules: read.flatMap(({ rules }) => rules), faults: read.flatMap(({ faults }) => faults) };
}

function openBody(secrets: Secrets, row: InspectionRuleRow): Pick<InspectionRuleRow, 'conditions' | 'actions'> {
  const { uuid, sealed, conditions, actions } = row;
  if (sealed === null) return { conditions, actions };
  return JSON.parse(secrets.open(sealed, rulePlace(uuid))) as {
    readonly conditions: readonly StoredRuleCall[];
    readonly actions: readonly StoredRuleCall[];
  };
}
