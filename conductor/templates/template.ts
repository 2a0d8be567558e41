import { TemplateDescription, templateFields } from '#conductor/api/deploy-templates.ts';
import { deployTemplates } from '#conductor/kernel/db/schema/deploy-template.ts';
import { maskDocument } from '#conductor/kernel/secrets/mask-document.ts';
import type { Resource } from '#conductor/nodes/resources/resource.ts';
import { sealSteps } from '#conductor/templates/template-secrets.ts';
import { type DeployTemplate, loadSteps, saveSteps } from '#conductor/templates/template-store.ts';

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
