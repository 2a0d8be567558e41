import type { Context } from 'hono';
import { z } from 'zod';
import { Driver, type DriverAnswer, Meanings, Shards } from '#conductor/api/node-parts.ts';
import { Conductor as ConductorAnswer } from '#conductor/api/records.ts';
import { pageOf } from '#conductor/api/values.ts';
import type { DriverDefinition } from '#conductor/drivers/driver-definition.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, linksTo, originOf, queryFlag, routesOf } from '#conductor/http/routing/define-routes.ts';
import {
  chooseFields,
  chooseListFields,
  type FieldSet,
  nextPage,
  parsePaging,
  plainListQuery,
} from '#conductor/http/routing/list-queries.ts';
import { requireVersion } from '#conductor/http/routing/versions.ts';
import { type Conductor, findConductor, listConductorPage } from '#conductor/kernel/conductors/conductor-store.ts';
import { interfaceKinds } from '#conductor/model/node-words.ts';
import { supportedInterfaces } from '#conductor/nodes/node-interfaces.ts';
import { apiTime } from '#conductor/nodes/node-view.ts';
import { countShards } from '#conductor/nodes/views/list-nodes.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** @throws AppError `not_found` in Ironic's words. */
export function requireDriver({ drivers }: Pick<HttpContext, 'drivers'>, name: string): DriverDefinition {
  const type = drivers.hardwareTypes.find((each) => each.name === name);
  if (!type) throw new AppError('not_found', `Could not find the following driver(s) or hardware type(s): ${name}.`);
  return type;
}

const conductorRoute = routesOf('conductors');
const conductorVersion = 49;

const conductorList = conductorRoute.get(
  '/v1/conductors',
  'List the conductors that have ever registered, dead ones too',
  answers(
    200,
    'conductors, and the address of the next page when this one is full',
    pageOf('conductors', ConductorAnswer),
  ),
  { since: conductorVersion, query: z.strictObject(plainListQuery) },
);

const showConductor = conductorRoute.get(
  '/v1/conductors/{hostname}',
  'Show a conductor',
  answers(200, 'the conductor', ConductorAnswer),
  { since: conductorVersion, query: z.strictObject({ fields: z.string().optional() }) },
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

/** Serves `/v1/conductors` (ironic-api.md §2). */
export function conductorRoutes(app: ApiApp, context: HttpContext): void {
  const { conductorTimeoutMs } = context.config;
  const find = async (hostname: string): Promise<Conductor> => {
    const conductor = await findConductor(context.db, hostname, conductorTimeoutMs);
    if (!conductor) throw new AppError('not_found', `Conductor ${hostname} could not be found.`);
    return conductor;
  };

  app.openapi(conductorList, async (c) => {
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

  app.openapi(showConductor, async (c) => {
    const fields = chooseFields(c.req.valid('query').fields, fieldSet);
    return c.json(view(c, await find(c.req.valid('param').hostname), fields));
  });
}

const driverRoute = routesOf('drivers');
const dynamicVersion = 30;
const fieldsVersion = 77;

const listDrivers = driverRoute.get(
  '/v1/drivers',
  'List the hardware types',
  answers(200, 'drivers', z.strictObject({ drivers: z.array(Driver) })),
  { query: z.strictObject({ type: z.string().optional(), detail: queryFlag, fields: z.string().optional() }) },
);

const showDriver = driverRoute.get(
  '/v1/drivers/{driver}',
  'Show a hardware type and the interfaces of its nodes',
  answers(200, 'the driver', Driver),
  { query: z.strictObject({ fields: z.string().optional() }) },
);

const properties = driverRoute.get(
  '/v1/drivers/{driver}/properties',
  'Explain the driver_info of a hardware type',
  answers(200, 'meaning by property', Meanings),
);

/** Microversions that added kinds to a driver's answer. */
const kindVersions: Readonly<Record<string, number>> = { bios: 40, firmware: 86, rescue: 38, storage: 33 };

function viewDriver(
  type: DriverDefinition,
  options: {
    readonly origin: string;
    readonly hosts: readonly string[];
    readonly version: number;
    readonly detail: boolean;
  },
): DriverAnswer {
  const { origin, version } = options;
  const view: DriverAnswer = {
    name: type.name,
    hosts: options.hosts,
    links: linksTo(origin, `drivers/${type.name}`),
    properties: linksTo(origin, `drivers/${type.name}/properties`),
  };
  if (version < dynamicVersion) return view;
  if (!options.detail) return { ...view, type: 'dynamic' };
  const kinds = interfaceKinds.filter((kind) => (kindVersions[kind] ?? dynamicVersion) <= version);
  const interfaces = kinds.flatMap((kind) => {
    const names = supportedInterfaces(type.name, kind);
    return [
      ...names.slice(0, 1).map((name) => [`default_${kind}_interface`, name] as const),
      [`enabled_${kind}_interfaces`, names] as const,
    ];
  });
  return { ...view, type: 'dynamic', ...Object.fromEntries(interfaces) };
}

/** Returns the fields of `?fields=a,b`, and the links. @throws AppError `invalid_argument` for one that does not exist. */
function onlyFields(view: DriverAnswer, fields: string | undefined): DriverAnswer {
  if (fields === undefined) return view;
  const names = fields.split(',').map((name) => name.trim());
  const has = (name: string): name is keyof DriverAnswer => Object.hasOwn(view, name);
  const unknown = names.find((name) => !has(name));
  if (unknown !== undefined) throw new AppError('invalid_argument', `fields: a driver has no field '${unknown}'`);
  return Object.fromEntries([...names, 'links'].filter(has).map((name) => [name, view[name]]));
}

/** Serves `/v1/drivers`. */
export function driverRoutes(app: ApiApp, context: HttpContext): void {
  const hostsOf = (driver: string): string[] =>
    context.conductors
      .recent()
      .filter(({ drivers }) => drivers.includes(driver))
      .map(({ hostname }) => hostname);

  app.openapi(listDrivers, async (c) => {
    await context.conductors.live();
    const query = c.req.valid('query');
    const { type: wanted, detail = false, fields } = query;
    const version = c.get('version');
    for (const name of ['type', 'detail'] as const) {
      if (query[name] !== undefined) requireVersion(version, dynamicVersion, `query argument '${name}'`);
    }
    if (fields !== undefined) requireVersion(version, fieldsVersion, "query argument 'fields'");
    if (detail && fields !== undefined) {
      throw new AppError('invalid_argument', 'Can not specify ?detail=True and fields in the same request.');
    }
    // all hardware types are what Ironic calls dynamic
    const types = wanted === undefined || wanted === 'dynamic' ? context.drivers.hardwareTypes : [];
    const options = { origin: originOf(c), version, detail: detail || fields !== undefined };
    const views = types.map((type) => viewDriver(type, { ...options, hosts: hostsOf(type.name) }));
    return c.json({ drivers: views.map((view) => onlyFields(view, fields)) });
  });

  app.openapi(showDriver, async (c) => {
    const type = requireDriver(context, c.req.valid('param').driver);
    const { fields } = c.req.valid('query');
    const version = c.get('version');
    if (fields !== undefined) requireVersion(version, fieldsVersion, "query argument 'fields'");
    await context.conductors.live();
    const view = viewDriver(type, { origin: originOf(c), hosts: hostsOf(type.name), version, detail: true });
    return c.json(onlyFields(view, fields));
  });

  app.openapi(properties, (c) => {
    const { fields } = requireDriver(context, c.req.valid('param').driver);
    return c.json(Object.fromEntries(Object.entries(fields).map(([name, { meaning }]) => [name, meaning])));
  });
}

const shardRoute = routesOf('shards');

const shardsVersion = 82;

const listShards = shardRoute.get(
  '/v1/shards',
  'Count the nodes of each shard',
  answers(200, 'shards; nodes without one count under the name None, as in Ironic', Shards),
  { since: shardsVersion },
);

/** Serves `/v1/shards`. */
export function shardRoutes(app: ApiApp, { db }: Pick<HttpContext, 'db'>): void {
  app.openapi(listShards, async (c) => {
    const shards = await countShards(db);
    return c.json({ shards: shards.map(({ shard, count }) => ({ name: shard ?? 'None', count })) });
  });
}
