import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { BootDevice, BootDevices, Validation } from '#conductor/api/node-parts.ts';
import type { ManagementInterface } from '#conductor/drivers/interfaces.ts';
import { validateNode } from '#conductor/flows/validate-node.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, jsonBody, NodeParams, queryFlag } from '#conductor/http/query-values.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { setMaintenance } from '#conductor/nodes/change-node.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/change-note.ts';
import { setLastingBootDevice } from '#conductor/nodes/lasting-boot-device.ts';
import { withNodeLock } from '#conductor/nodes/node-lock.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const tags = ['node management'];

const validate = createRoute({
  method: 'get',
  path: '/v1/nodes/{node}/validate',
  tags,
  summary: 'Say for each interface whether the node is described well enough to use it',
  request: { params: NodeParams },
  responses: answers(200, 'result and reason by interface', Validation),
});

const validateByQuery = createRoute({
  method: 'get',
  path: '/v1/nodes/validate',
  tags,
  summary: 'The older form of /v1/nodes/{node}/validate',
  request: { query: z.strictObject({ node: z.string().optional(), node_uuid: z.string().optional() }) },
  responses: answers(200, 'result and reason by interface', Validation),
});

const maintenanceOn = createRoute({
  method: 'put',
  path: '/v1/nodes/{node}/maintenance',
  tags,
  summary: 'Take the node out of service',
  request: {
    params: NodeParams,
    body: { content: { 'application/json': { schema: z.strictObject({ reason: z.string().nullish() }) } } },
  },
  responses: answers(202, 'done'),
});

const maintenanceOff = createRoute({
  method: 'delete',
  path: '/v1/nodes/{node}/maintenance',
  tags,
  summary: 'Put the node back into service',
  request: { params: NodeParams },
  responses: answers(202, 'done'),
});

const bootDevicePath = '/v1/nodes/{node}/management/boot_device';

const getBootDevice = createRoute({
  method: 'get',
  path: bootDevicePath,
  tags,
  summary: 'Ask the BMC for the boot device',
  request: { params: NodeParams },
  responses: answers(200, 'boot_device and persistent, null where the BMC does not report it', BootDevice),
});

const supportedBootDevices = createRoute({
  method: 'get',
  path: `${bootDevicePath}/supported`,
  tags,
  summary: 'List the boot devices that can be set',
  request: { params: NodeParams },
  responses: answers(200, 'supported_boot_devices', BootDevices),
});

const setBootDevice = createRoute({
  method: 'put',
  path: bootDevicePath,
  tags,
  summary: 'Set the boot device',
  request: {
    params: NodeParams,
    body: jsonBody(z.strictObject({ boot_device: z.string(), persistent: queryFlag })),
  },
  responses: answers(204, 'done'),
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
