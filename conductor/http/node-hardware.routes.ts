import { z } from 'zod';
import { EventLog, Sensors } from '#conductor/api/node-parts.ts';
import type { ManagementInterface } from '#conductor/drivers/interfaces.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('node management');

const sensors = route.get(
  '/v1/nodes/{node}/sensors',
  "Ask the BMC what its sensors read now (Baton's own)",
  answers(200, 'readings', Sensors),
);

const eventLog = route.get(
  '/v1/nodes/{node}/event_log',
  "Ask the BMC for the newest entries of its system event log, the newest last (Baton's own)",
  answers(200, 'entries', EventLog),
  { query: z.strictObject({ limit: z.coerce.number().int().min(1).max(500).default(50) }) },
);

/** What the BMC tells of the hardware: read when it is asked for, and not kept. */
export function nodeHardwareRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  const call = async <Name extends 'getSensors' | 'getEventLog'>(ident: string, name: Name) => {
    const node = await getNode(context.db, ident);
    const { management } = context.drivers.connect(node, { node: node.uuid });
    const offered: ManagementInterface[Name] = management[name];
    if (offered) return offered.bind(management) as NonNullable<ManagementInterface[Name]>;
    const what = name === 'getSensors' ? 'sensors' : 'a system event log';
    throw new AppError('not_supported', `Driver ${node.driver} has no access to ${what}.`);
  };

  app.openapi(sensors, async (c) => {
    const read = await call(c.req.valid('param').node, 'getSensors');
    return c.json({ sensors: [...(await read())] });
  });

  app.openapi(eventLog, async (c) => {
    const read = await call(c.req.valid('param').node, 'getEventLog');
    return c.json({ event_log: [...(await read(c.req.valid('query').limit))] });
  });

  return app;
}
