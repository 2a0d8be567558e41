import type { Context } from 'hono';
import { z } from 'zod';
import { Conductor as ConductorAnswer } from '#conductor/api/records.ts';
import { pageOf } from '#conductor/api/values.ts';
import { type ApiApp, type ApiEnv, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { chooseFields, chooseListFields, type FieldSet, plainListQuery } from '#conductor/http/field-choice.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { nextPage, parsePaging } from '#conductor/http/paging.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import { type Conductor, findConductor, listConductorPage } from '#conductor/kernel/conductors/conductor-store.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('conductors');
const conductorVersion = 49;

const list = route.get(
  '/v1/conductors',
  'List the conductors that have ever registered, dead ones too',
  answers(
    200,
    'conductors, and the address of the next page when this one is full',
    pageOf('conductors', ConductorAnswer),
  ),
  { query: z.strictObject(plainListQuery) },
);

const show = route.get(
  '/v1/conductors/{hostname}',
  'Show a conductor',
  answers(200, 'the conductor', ConductorAnswer),
  { query: z.strictObject({ fields: z.string().optional() }) },
);

const fieldSet = {
  what: 'conductor',
  all: ['hostname', 'conductor_group', 'alive', 'drivers', 'created_at', 'updated_at'],
  listed: ['hostname', 'conductor_group', 'alive'],
} as const satisfies FieldSet<string>;
type ConductorField = (typeof fieldSet.all)[number];

const fieldValues: Readonly<Record<ConductorField, (conductor: Conductor) => unknown>> = {
  hostname: ({ hostname }) => hostname,
  conductor_group: ({ conductorGroup }) => conductorGroup,
  alive: ({ alive }) => alive,
  drivers: ({ drivers }) => drivers,
  created_at: ({ createdAt }) => apiTime(createdAt),
  updated_at: ({ updatedAt }) => apiTime(updatedAt),
};

function view(c: Context<ApiEnv>, conductor: Conductor, fields: readonly ConductorField[]): Record<string, unknown> {
  return {
    ...Object.fromEntries(fields.map((field) => [field, fieldValues[field](conductor)])),
    links: linksTo(originOf(c), `conductors/${conductor.hostname}`),
  };
}

/** `/v1/conductors` (ironic-api.md §2). */
export function conductorRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  const { conductorTimeoutMs } = context.config;
  const find = async (hostname: string): Promise<Conductor> => {
    const conductor = await findConductor(context.db, hostname, conductorTimeoutMs);
    if (!conductor) throw new AppError('not_found', `Conductor ${hostname} could not be found.`);
    return conductor;
  };

  app.openapi(list, async (c) => {
    requireEndpoint(c.get('version'), conductorVersion);
    const { marker, ...query } = c.req.valid('query');
    const fields = chooseListFields(query, fieldSet);
    // conductors are known by name
    const paging = { ...parsePaging(query), marker };
    if (marker !== undefined) await find(marker);
    const rows = await listConductorPage(context.db, conductorTimeoutMs, paging);
    return c.json({
      conductors: rows.map((row) => view(c, row, fields)),
      ...nextPage(
        c,
        '/v1/conductors',
        paging,
        rows.map(({ hostname }) => ({ uuid: hostname })),
      ),
    });
  });

  app.openapi(show, async (c) => {
    requireEndpoint(c.get('version'), conductorVersion);
    const fields = chooseFields(c.req.valid('query').fields, fieldSet);
    return c.json(view(c, await find(c.req.valid('param').hostname), fields));
  });

  return app;
}
