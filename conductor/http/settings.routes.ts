import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { SettingInForce } from '#conductor/api/records.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers } from '#conductor/http/query-values.ts';

const list = createRoute({
  method: 'get',
  path: '/v1/settings',
  tags: ["settings (Baton's own)"],
  summary: 'List the settings in force on the conductor that answers, without logins',
  responses: answers(200, 'settings', z.strictObject({ conductor: z.string(), settings: z.array(SettingInForce) })),
});

/** `GET /v1/settings`. */
export function settingsRoutes({ config }: Pick<HttpContext, 'config'>): ApiApp {
  const app = newApiApp();
  app.openapi(list, (c) => c.json({ conductor: config.conductorName, settings: [...config.settings] }));
  return app;
}
