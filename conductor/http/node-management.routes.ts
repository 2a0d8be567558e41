import { z } from 'zod';
import { BootDevice, BootDevices, Validation } from '#conductor/api/node-parts.ts';
import type { ManagementInterface } from '#conductor/drivers/interfaces.ts';
import { validateNode } from '#conductor/flows/validate-node.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, queryFlag, routesOf } from '#conductor/http/define-routes.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { setMaintenance } from '#conductor/nodes/change-node.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/change-note.ts';
import { setLastingBootDevice } from '#conductor/nodes/lasting-boot-device.ts';
import { withNodeLock } from '#conductor/nodes/node-lock.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const route = routesOf('node management');

const validate = route.get(
  '/v1/nodes/{node}/validate',
  'Say for each interface whether the node is described well enough to use it',
  answers(200, 'result and reason by interface', Validation),
);

const validateByQuery = route.get(
  '/v1/nodes/validate',
  'The older form of /v1/nodes/{node}/validate',
  answers(200, 'result and reason by interface', Validation),
  { query: z.strictObject({ node: z.string().optional(), node_uuid: z.string().optional() }) },
);

const maintenanceOn = route.put('/v1/nodes/{node}/maintenance', 'Take the node out of service', answers(202, 'done'), {
  body: { content: { 'application/json': { schema: z.strictObject({ reason: z.string().nullish() }) } } },
});

const maintenanceOff = route.delete(
  '/v1/nodes/{node}/maintenance',
  'Put the node back into service',
  answers(202, 'done'),
);

const bootDevicePath = '/v1/nodes/{node}/management/boot_device';

const getBootDevice = route.get(
  bootDevicePath,
  'Ask the BMC for the boot device',
  answers(200, 'boot_device and persistent, null where the BMC does not report it', BootDevice),
);

const supportedBootDevices = route.get(
  `${bootDevicePath}/supported`,
  'List the boot devices that can be set',
  answers(200, 'supported_boot_devices', BootDevices),
);

const setBootDevice = route.put(bootDevicePath, 'Set the boot device', answers(204, 'done'), {
  body: z.strictObject({ boot_device: z.string(), persistent: queryFlag }),
});

/** `validate`, `maintenance` and `management` of a node. */
export function nodeManagementRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  const find = (ident: string): Promise<NodeRow> => getNode(context.db, ident);
  const managementOf = (node: NodeRow): ManagementInterface =>
    context.drivers.connect(node, { node: node.uuid }).management;

  app.openapi(validateByQuery, async (c) => {
    const { node, node_uuid } = c.req.valid('query');
    const ident = node ?? node_uuid;
    if (!ident) throw new AppError('invalid_argument', 'Missing mandatory parameter: node');
    return c.json(await validateNode(context, await find(ident)));
  });

  app.openapi(validate, async (c) => c.json(await validateNode(context, await find(c.req.valid('param').node))));

  app.openapi(maintenanceOn, async (c) => {
    const { uuid } = await find(c.req.valid('param').node);
    await setMaintenance(context, uuid, { on: true, reason: c.req.valid('json').reason ?? undefined }, c.get('caller'));
    return c.body(null, 202);
  });

  app.openapi(maintenanceOff, async (c) => {
    const { uuid } = await find(c.req.valid('param').node);
    await setMaintenance(context, uuid, { on: false }, c.get('caller'));
    return c.body(null, 202);
  });

  app.openapi(getBootDevice, async (c) => {
    const setting = await managementOf(await find(c.req.valid('param').node)).getBootDevice();
    return c.json({ boot_device: setting.bootDevice ?? null, persistent: setting.persistent ?? null });
  });

  app.openapi(supportedBootDevices, async (c) => {
    const management = managementOf(await find(c.req.valid('param').node));
    return c.json({ supported_boot_devices: management.supportedBootDevices });
  });

  app.openapi(setBootDevice, async (c) => {
    const { boot_device: name, persistent } = c.req.valid('json');
    const node = await find(c.req.valid('param').node);
    const management = managementOf(node);
    const device = management.supportedBootDevices.find((each) => each === name);
    if (!device) {
      throw new AppError(
        'invalid_argument',
        `Invalid boot device ${name} specified, supported are ${management.supportedBootDevices.join(', ')}.`,
      );
    }
    await withNodeLock(context, node.uuid, async (signal) => {
      if (!persistent) return void (await management.setBootDevice(device, { persistent: false, signal }));
      return updateNode(context.db, node.uuid, await setLastingBootDevice(management, device, { signal }));
    });
    const event = `boot device ${device} set${persistent ? ', persistently' : ' for the next boot'}`;
    await writeChangeNote(context.db, node.uuid, changeNote(context, c.get('caller'), event));
    return c.body(null, 204);
  });

  return app;
}
