import { asc, eq, inArray, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Queryable, Transaction } from '#conductor/kernel/db/open.ts';
import {
  type DeployTemplateRow,
  type DeployTemplateStepRow,
  deployTemplateSteps,
  deployTemplates,
} from '#conductor/kernel/db/schema/deploy-template.ts';
import { refusingDuplicates } from '#conductor/kernel/db/violated-constraint.ts';
import { type PageRequest, pageOf, sortColumn } from '#conductor/kernel/page-of.ts';
import type { RequestedStep } from '#conductor/model/planned-step.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import type { DeployTemplate, TemplateDescription } from '#conductor/templates/template-fields.ts';
import { AppError } from '#shared/errors/app-error.ts';

const sortColumns: Readonly<Record<string, PgColumn>> = {
  uuid: deployTemplates.uuid,
  name: deployTemplates.name,
  created_at: deployTemplates.createdAt,
  updated_at: deployTemplates.updatedAt,
};

/**
 * One page of templates.
 * @throws AppError `invalid_argument` for an unknown sort key.
 */
export async function listTemplates(db: Queryable, page: PageRequest): Promise<DeployTemplate[]> {
  const { order, after } = pageOf({
    table: sql`${deployTemplates}`,
    uuid: deployTemplates.uuid,
    id: deployTemplates.id,
    sortBy: sortColumn(sortColumns, page.sortKey),
    descending: page.descending,
    marker: page.marker,
  });
  const rows = await db
    .select()
    .from(deployTemplates)
    .where(after)
    .orderBy(...order)
    .limit(page.limit);
  return withSteps(db, rows);
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
  return (await withSteps(db, rows)).map(({ uuid, name, steps }) => ({ uuid, name, steps }));
}

/**
 * By UUID or name.
 * @throws AppError `not_found` in Ironic's words.
 */
export async function getTemplate(db: Queryable, ident: string): Promise<DeployTemplate> {
  const rows = await db
    .select()
    .from(deployTemplates)
    .where(isUuid(ident) ? eq(deployTemplates.uuid, ident.toLowerCase()) : eq(deployTemplates.name, ident));
  const [template] = await withSteps(db, rows);
  if (!template) throw new AppError('not_found', `Deploy template ${ident} could not be found.`);
  return template;
}

/** The row, locked until the transaction ends. @throws AppError `not_found`. */
export async function lockTemplate(tx: Transaction, ident: string): Promise<DeployTemplate> {
  const { uuid } = await getTemplate(tx, ident);
  await tx.select().from(deployTemplates).where(eq(deployTemplates.uuid, uuid)).for('update');
  return getTemplate(tx, uuid);
}

/** @throws AppError `conflict` when uuid or name is another template's. */
export async function insertTemplate(tx: Transaction, uuid: string, description: TemplateDescription): Promise<void> {
  const { name, extra, steps } = description;
  await refusingDuplicates(() => tx.insert(deployTemplates).values({ uuid, name, extra }), duplicate(uuid, name));
  await insertSteps(tx, uuid, steps);
}

/** @throws AppError `conflict` when the name is another template's. */
export async function updateTemplate(
  tx: Transaction,
  uuid: string,
  { name, extra, steps }: TemplateDescription,
): Promise<void> {
  await refusingDuplicates(
    () => tx.update(deployTemplates).set({ name, extra, updatedAt: sql`now()` }).where(eq(deployTemplates.uuid, uuid)),
    duplicate(uuid, name),
  );
  await tx.delete(deployTemplateSteps).where(eq(deployTemplateSteps.templateUuid, uuid));
  await insertSteps(tx, uuid, steps);
}

export async function deleteTemplate(db: Queryable, uuid: string): Promise<void> {
  await db.delete(deployTemplates).where(eq(deployTemplates.uuid, uuid));
}

async function insertSteps(tx: Transaction, templateUuid: string, steps: readonly RequestedStep[]): Promise<void> {
  await tx.insert(deployTemplateSteps).values(steps.map((step, position) => ({ ...step, templateUuid, position })));
}

async function withSteps(db: Queryable, templates: readonly DeployTemplateRow[]): Promise<DeployTemplate[]> {
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

function stepOf({ interface: name, step, args, priority }: DeployTemplateStepRow): RequestedStep {
  return { interface: name, step, args, priority };
}

function duplicate(uuid: string, name: string) {
  return (constraint: string): string =>
    constraint.includes('name')
      ? `A deploy template with name ${name} already exists.`
      : `A deploy template with UUID ${uuid} already exists.`;
}
