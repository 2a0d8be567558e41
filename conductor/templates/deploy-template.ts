import { asc, eq, inArray } from 'drizzle-orm';
import { TemplateDescription, templateFields } from '#conductor/api/templates.ts';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import {
  type DeployTemplateRow,
  type DeployTemplateStepRow,
  deployTemplateSteps,
  deployTemplates,
} from '#conductor/kernel/db/schema/template.ts';
import { keepMasked, maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import { type DocumentPlace, openDocument, sealWritten } from '#conductor/kernel/secrets/sealed-document.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import { type RequestedStep, stepKey } from '#conductor/model/flows/planned-step.ts';
import type { Resource } from '#conductor/nodes/resources/resource.ts';

/** Steps under the name of a trait. A flow that is planned keeps the steps that it has. */
export const templateResource: Resource<DeployTemplate> = {
  ...templateFields,
  named: true,
  table: deployTemplates,
  description: TemplateDescription,
  duplicates: { name: ({ name }) => `A deploy template with name ${name} already exists.` },
  views: { steps: ({ steps }) => steps.map((step) => ({ ...step, args: maskDocument(step.args) })) },
  seal: (secrets, { uuid, steps = [] }, before) => ({
    steps: sealSteps(secrets, before?.uuid ?? uuid ?? '', steps, before?.steps),
  }),
  parts: { load: loadSteps, save: saveSteps },
};

interface DeployTemplate extends DeployTemplateRow {
  /** In the order given. */
  readonly steps: readonly RequestedStep[];
}

/** Lists what a plan takes from templates: those with these names, ordered by name, their steps in the order given. */
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

async function loadSteps(db: Queryable, templates: readonly DeployTemplateRow[]): Promise<DeployTemplate[]> {
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

/** Saves steps in place of those that the template had. */
async function saveSteps(tx: Transaction, templateUuid: string, { steps }: Partial<DeployTemplate>) {
  if (!steps) return;
  await tx.delete(deployTemplateSteps).where(eq(deployTemplateSteps.templateUuid, templateUuid));
  await tx.insert(deployTemplateSteps).values(steps.map((step, position) => ({ ...step, templateUuid, position })));
}

function stepOf({ interface: name, step, args, priority }: DeployTemplateStepRow): RequestedStep {
  return { interface: name, step, args, priority };
}

export function templatePlace(templateUuid: string): DocumentPlace {
  return `deploy template ${templateUuid} args`;
}

/**
 * A template's steps as an operator writes them, the secrets in their arguments sealed; `******` keeps what the step of
 * that name had.
 * @throws AppError `invalid_argument` naming a value that begins as sealed ones do.
 */
function sealSteps(
  secrets: Secrets,
  uuid: string,
  steps: readonly RequestedStep[],
  before: readonly RequestedStep[] = [],
): RequestedStep[] {
  const known = new Map(before.map((step) => [stepKey(step), step.args]));
  return steps.map((step) => {
    const own = known.get(stepKey(step)) ?? {};
    return { ...step, args: sealWritten(secrets, keepMasked(step.args, own), templatePlace(uuid), { before: own }) };
  });
}

export function openTemplate<Template extends { readonly uuid: string; readonly steps: readonly RequestedStep[] }>(
  secrets: Secrets,
  template: Template,
): Template {
  const steps = template.steps.map((step) => ({
    ...step,
    args: openDocument(secrets, step.args, templatePlace(template.uuid)),
  }));
  return { ...template, steps };
}
