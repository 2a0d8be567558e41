import { asc, eq, inArray } from 'drizzle-orm';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import {
  type DeployTemplateRow,
  type DeployTemplateStepRow,
  deployTemplateSteps,
  deployTemplates,
} from '#conductor/kernel/db/schema/deploy-template.ts';
import type { RequestedStep } from '#conductor/model/planned-step.ts';

export interface DeployTemplate extends DeployTemplateRow {
  /** In the order given. */
  readonly steps: readonly RequestedStep[];
}

/** What a plan takes from templates: those with these names, ordered by name, their steps in the order given. */
export async function listTemplatesNamed(
  db: Queryable,
  names: readonly string[],
): Promise<{ readonly uuid: string; readonly name: string; readonly steps: readonly RequestedStep[] }[]> {
  if (names.length === 0) return [];
  const rows = await db
    .select()
    .from(deployTemplates)
    .where(inArray(deployTemplates.name, [...names]))
    .orderBy(asc(deployTemplates.name));
  return (await loadSteps(db, rows)).map(({ uuid, name, steps }) => ({ uuid, name, steps }));
}

export async function loadSteps(db: Queryable, templates: readonly DeployTemplateRow[]): Promise<DeployTemplate[]> {
  if (templates.length === 0) return [];
  const uuids = templates.map((template) => template.uuid);
  const rows = await db
    .select()
    .from(deployTemplateSteps)
    .where(inArray(deployTemplateSteps.templateUuid, uuids))
    .orderBy(asc(deployTemplateSteps.position));
  const byTemplate = Map.groupBy(rows, (row) => row.templateUuid);
  return templates.map((template) => ({ ...template, steps: (byTemplate.get(template.uuid) ?? []).map(stepOf) }));
}

/** In place of those that it had. */
export async function saveSteps(tx: Transaction, templateUuid: string, { steps }: Partial<DeployTemplate>) {
  if (!steps) return;
  await tx.delete(deployTemplateSteps).where(eq(deployTemplateSteps.templateUuid, templateUuid));
  await tx.insert(deployTemplateSteps).values(steps.map((step, position) => ({ ...step, templateUuid, position })));
}

function stepOf({ interface: name, step, args, priority }: DeployTemplateStepRow): RequestedStep {
  return { interface: name, step, args, priority };
}
