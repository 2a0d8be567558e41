import { z } from 'zod';
import { SettingInForce } from '#conductor/api/records.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';

const route = routesOf("settings (Baton's own)");

const list = route.get(
  '/v1/settings',
  'List the settings in force on the conductor that answers, without logins',
  answers(200, 'settings', z.strictObject({ conductor: z.string(), settings: z.array(SettingInForce) })),
);

/** `GET /v1/settings`. */
export function settingsRoutes({ config }: Pick<HttpContext, 'config'>): ApiApp {
  const app = newApiApp();
  app.openapi(list, (c) => c.json({ conductor: config.conductorName, settings: [...config.settings] }));
  return app;
}
