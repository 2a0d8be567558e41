import { randomUUID } from 'node:crypto';
import type { KernelContext } from '#conductor/kernel/context.ts';
import { type JsonPatch, patchDocument } from '#conductor/kernel/json-patch.ts';
import { type DeployTemplate, TemplateDescription } from '#conductor/templates/template-fields.ts';
import { sealTemplate } from '#conductor/templates/template-secrets.ts';
import { getTemplate, insertTemplate, lockTemplate, updateTemplate } from '#conductor/templates/template-store.ts';

type TemplateContext = Pick<KernelContext, 'db' | 'secrets'>;

/** @throws AppError `conflict` when uuid or name is another template's. */
export function createTemplate(
  { db, secrets }: TemplateContext,
  description: TemplateDescription,
  uuid: string = randomUUID(),
): Promise<DeployTemplate> {
  return db.transaction(async (tx) => {
    await insertTemplate(tx, uuid, sealTemplate(secrets, uuid, description));
    return getTemplate(tx, uuid);
  });
}

/**
 * `PATCH /v1/deploy_templates/{template}` in one transaction. A flow that is planned keeps the steps that it has.
 * @throws AppError `not_found`, `invalid_argument` naming the field, `conflict` for a duplicate name.
 */
export function changeTemplate(
  { db, secrets }: TemplateContext,
  ident: string,
  patch: JsonPatch,
): Promise<DeployTemplate> {
  return db.transaction(async (tx) => {
    const { uuid, name, steps, extra } = await lockTemplate(tx, ident);
    const described = patchDocument({ name, steps, extra }, patch, TemplateDescription);
    if (patch.length > 0) await updateTemplate(tx, uuid, sealTemplate(secrets, uuid, described, steps));
    return getTemplate(tx, uuid);
  });
}
