import { z } from 'zod';
import { FirmwareComponent } from '#conductor/api/node-parts.ts';
import { listFirmware } from '#conductor/flows/firmware/firmware-store.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import { getNode } from '#conductor/nodes/node-store.ts';

const route = routesOf('node firmware');

const list = route.get(
  '/v1/nodes/{node}/firmware',
  'List the versions of the firmware of a node as last read',
  answers(200, 'components', z.strictObject({ firmware: z.array(FirmwareComponent) })),
);

/** `/v1/nodes/{node}/firmware` (Ironic, 1.86). */
export function nodeFirmwareRoutes({ db }: HttpContext): ApiApp {
  const app = newApiApp();
  app.openapi(list, async (c) => {
    requireEndpoint(c.get('version'), 86);
    const { uuid } = await getNode(db, c.req.valid('param').node);
    return c.json({ firmware: [...(await listFirmware(db, uuid))] });
  });
  return app;
}
