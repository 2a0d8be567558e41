import { z } from 'zod';
import { DeployTemplate, TemplateDescription } from '#conductor/api/deploy-templates.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { mountResource } from '#conductor/http/mount-resource.ts';
import { templateResource } from '#conductor/templates/deploy-template.ts';

/** `/v1/deploy_templates`. */
export function deployTemplateRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  mountResource(app, context, {
    resource: templateResource,
    path: '/v1/deploy_templates',
    key: 'deploy_templates',
    param: 'template',
    plural: 'deploy templates',
    hasNewMethods: true,
    tag: 'deploy templates',
    answer: DeployTemplate,
    body: TemplateDescription.extend({ uuid: z.guid({ error: 'must be a UUID' }).nullish() }),
    summaries: {
      create: 'Prepare steps under the name of a trait',
      change: 'Change a deploy template by JSON patch',
      remove: 'Delete a deploy template; flows that are planned already keep its steps',
    },
  });
  return app;
}
