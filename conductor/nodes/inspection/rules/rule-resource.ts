import { asc, desc } from 'drizzle-orm';
import { RuleDescription, ruleFields } from '#conductor/api/inspection-rules.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import {
  type InspectionRuleRow,
  inspectionRules,
  type StoredRuleCall,
} from '#conductor/kernel/db/schema/inspection-rule.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { InspectionRule } from '#conductor/nodes/inspection/rules/rule.ts';
import { parseRules } from '#conductor/nodes/inspection/rules/rules-file.ts';
import type { Resource } from '#conductor/nodes/resources/resource.ts';
import { AppError } from '#shared/errors/app-error.ts';

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
    const isKept = before?.sensitive === true && after.sensitive === true && after.actions?.length === 0;
    if (!isKept) requireRule(after);
  },
  seal: (secrets, after, before) => {
    if (!after.sensitive) return { sealed: null };
    const { actions = [], conditions = [] } = after;
    if (before?.sealed && actions.length === 0) return { sealed: before.sealed };
    const body = JSON.stringify({ conditions, actions });
    return { sealed: secrets.seal(body, rulePlace(before?.uuid ?? after.uuid ?? '')), conditions: [], actions: [] };
  },
};

export function rulePlace(uuid: string): string {
  return `inspection rule ${uuid}`;
}

/** @throws AppError `invalid_argument` naming condition or action. */
function requireRule({ conditions = [], actions = [] }: Partial<InspectionRuleRow>): void {
  const { faults } = parseRules([{ conditions, actions }]);
  if (faults.length > 0)
    throw new AppError('invalid_argument', faults.map((fault) => fault.replace(/^0\./, '')).join('; '));
}

/** Those that are stored, the highest priority first. */
export async function readStoredRules(db: Queryable, secrets: Secrets): Promise<InspectionRule[]> {
  const rows = await db.select().from(inspectionRules).orderBy(desc(inspectionRules.priority), asc(inspectionRules.id));
  return rows.flatMap(({ uuid, description, priority, conditions, actions, sealed }) => {
    const body = sealed === null ? { conditions, actions } : openBody(secrets, uuid, sealed);
    return parseRules([{ description: description ?? uuid, priority, ...body }]).rules;
  });
}

function openBody(secrets: Secrets, uuid: string, sealed: string) {
  return JSON.parse(secrets.open(sealed, rulePlace(uuid))) as {
    readonly conditions: readonly StoredRuleCall[];
    readonly actions: readonly StoredRuleCall[];
  };
}
