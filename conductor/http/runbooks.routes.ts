import { z } from 'zod';
import { Runbook, RunbookDescription } from '#conductor/api/runbooks.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { mountResource } from '#conductor/http/mount-resource.ts';
import { runbookResource } from '#conductor/templates/runbook.ts';

/** `/v1/runbooks`. */
export function runbookRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  mountResource(app, context, {
    resource: runbookResource,
    path: '/v1/runbooks',
    key: 'runbooks',
    param: 'runbook',
    plural: 'runbooks',
    hasNewMethods: true,
    tag: 'runbooks',
    answer: Runbook,
    body: RunbookDescription.extend({ uuid: z.guid({ error: 'must be a UUID' }).nullish() }),
    summaries: {
      create: 'Write down steps for nodes with a trait',
      change: 'Change a runbook by JSON patch',
      remove: 'Forget a runbook',
    },
  });
  return app;
}
