import { z } from 'zod';
import { Chassis, ChassisDescription } from '#conductor/api/chassis.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { mountResource } from '#conductor/http/mount-resource.ts';
import { chassisResource } from '#conductor/nodes/chassis.ts';

/** `/v1/chassis`; their nodes are in `nodes.routes.ts`. */
export function chassisRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  mountResource(app, context, {
    resource: chassisResource,
    path: '/v1/chassis',
    key: 'chassis',
    param: 'chassis',
    uuidWord: 'chassis_uuid',
    plural: 'chassis',
    tag: 'chassis',
    answer: Chassis,
    body: ChassisDescription.extend({ uuid: z.guid({ error: 'must be a UUID' }).nullish() }),
    summaries: {
      create: 'Describe a chassis',
      change: 'Change a chassis by JSON patch',
      remove: 'Delete a chassis without nodes',
    },
    hasDetail: true,
    below: { key: 'nodes', since: 1 },
  });
  return app;
}
