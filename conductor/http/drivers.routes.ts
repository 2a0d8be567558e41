import { z } from 'zod';
import { Driver, Meanings } from '#conductor/api/node-parts.ts';
import type { DriverDefinition } from '#conductor/drivers/interfaces.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, queryFlag, routesOf } from '#conductor/http/define-routes.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { requireDriver } from '#conductor/http/require-driver.ts';
import { requireVersion } from '#conductor/http/versions.ts';
import { interfaceKinds } from '#conductor/model/interface-kinds.ts';
import { supportedInterfaces } from '#conductor/nodes/node-interfaces.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('drivers');
const dynamicVersion = 30;
const fieldsVersion = 77;

const list = route.get(
  '/v1/drivers',
  'List the hardware types',
  answers(200, 'drivers', z.strictObject({ drivers: z.array(Driver) })),
  { query: z.strictObject({ type: z.string().optional(), detail: queryFlag, fields: z.string().optional() }) },
);

const show = route.get(
  '/v1/drivers/{driver}',
  'Show a hardware type and the interfaces of its nodes',
  answers(200, 'the driver', Driver),
  { query: z.strictObject({ fields: z.string().optional() }) },
);

const properties = route.get(
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
): Record<string, unknown> {
  const { origin, version } = options;
  const view = {
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
      [`default_${kind}_interface`, names[0]],
      [`enabled_${kind}_interfaces`, names],
    ];
  });
  return { ...view, type: 'dynamic', ...Object.fromEntries(interfaces) };
}

/** The fields of `?fields=a,b`, and the links. @throws AppError `invalid_argument` for one that does not exist. */
function onlyFields(view: Record<string, unknown>, fields: string | undefined): Record<string, unknown> {
  if (fields === undefined) return view;
  const names = fields.split(',').map((name) => name.trim());
  const unknown = names.find((name) => !Object.hasOwn(view, name));
  if (unknown !== undefined) throw new AppError('invalid_argument', `fields: a driver has no field '${unknown}'`);
  return Object.fromEntries([...names, 'links'].map((name) => [name, view[name]]));
}

/** `/v1/drivers`. */
export function driverRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  const hostsOf = (driver: string): string[] =>
    context.conductors
      .recent()
      .filter(({ drivers }) => drivers.includes(driver))
      .map(({ hostname }) => hostname);

  app.openapi(list, async (c) => {
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

  app.openapi(show, async (c) => {
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

  return app;
}
