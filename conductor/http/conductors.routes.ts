import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { z } from 'zod';
import type { ConductorContext } from '#conductor/context.ts';
import { type ApiApp, type ApiEnv, newApiApp } from '#conductor/http/api-app.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { pagingQuery } from '#conductor/http/paging.ts';
import { answers, queryFlag } from '#conductor/http/query-values.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { AppError } from '#shared/errors/app-error.ts';

const conductorVersion = 49;

const list = createRoute({
  method: 'get',
  path: '/v1/conductors',
  tags: ['conductors'],
  summary: 'List the conductors: the one that answers',
  request: { query: z.strictObject({ ...pagingQuery, detail: queryFlag, fields: z.string().optional() }) },
  responses: answers(200, 'conductors'),
});

const show = createRoute({
  method: 'get',
  path: '/v1/conductors/{hostname}',
  tags: ['conductors'],
  summary: 'Show a conductor',
  request: { params: z.object({ hostname: z.string() }) },
  responses: answers(200, 'the conductor'),
});

/** `/v1/conductors`. Conductors don't keep a register of each other (leases need none), so each answers for itself. */
export function conductorRoutes(context: ConductorContext): ApiApp {
  const app = newApiApp();
  const hostname = context.config.conductorName;
  const startedAt = context.clock.now();

  const view = (c: Context<ApiEnv>, detail: boolean) => ({
    hostname,
    conductor_group: '',
    alive: true,
    links: linksTo(originOf(c), `conductors/${hostname}`),
    ...(detail
      ? {
          drivers: context.drivers.hardwareTypes.map((type) => type.name),
          created_at: apiTime(startedAt),
          updated_at: apiTime(context.clock.now()),
        }
      : {}),
  });

  app.openapi(list, (c) => {
    requireEndpoint(c.get('version'), conductorVersion);
    const { detail = false, marker } = c.req.valid('query');
    return c.json({ conductors: marker === undefined ? [view(c, detail)] : [] });
  });

  app.openapi(show, (c) => {
    requireEndpoint(c.get('version'), conductorVersion);
    const wanted = c.req.valid('param').hostname;
    if (wanted !== hostname) throw new AppError('not_found', `Conductor ${wanted} could not be found.`);
    return c.json(view(c, true));
  });

  return app;
}
