import { z } from 'zod';
import { retryNow, skipStep } from '#conductor/flows/push-flow.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { getNode } from '#conductor/nodes/node-store.ts';

const route = routesOf("flows and plans (Baton's own)");

const retry = route.post(
  '/v1/nodes/{node}/flow/retry',
  'Try at once what the flow under way waits for; its limits stay',
  answers(202, 'accepted'),
);

const skip = route.post(
  '/v1/nodes/{node}/flow/skip',
  'Leave out a step that a request, a template or a plugin asks for, before it runs or while it is retried',
  answers(202, 'accepted'),
  { body: z.strictObject({ step: z.guid({ error: "must be a step's UUID, as GET …/flow has it" }) }) },
);

/** `/v1/nodes/{node}/flow/retry` and `/skip`. */
export function nodeFlowRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();

  app.openapi(retry, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    await retryNow(context, node, c.get('caller'));
    return c.body(null, 202);
  });

  app.openapi(skip, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    await skipStep(context, node, c.req.valid('json').step.toLowerCase(), c.get('caller'));
    return c.body(null, 202);
  });

  return app;
}
