import type { Context } from 'hono';
import { z } from 'zod';
import { looseBoolean } from '#conductor/api/node-description.ts';
import { BootDevice, BootDevices, Meanings, Validation } from '#conductor/api/node-parts.ts';
import type { ManagementInterface } from '#conductor/drivers/interfaces.ts';
import { validateNode } from '#conductor/flows/request/validate-node.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, originOf, queryFlag, routesOf } from '#conductor/http/routing/define-routes.ts';
import { requireVersion } from '#conductor/http/routing/versions.ts';
import { requireDriver } from '#conductor/http/service/conductors.routes.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { setLastingBootDevice } from '#conductor/nodes/boot/boot-device.ts';
import { setMaintenance } from '#conductor/nodes/change/change-node.ts';
import { changeTargetRaidConfig, requestBootMode } from '#conductor/nodes/change/request-targets.ts';
import { changeNote, writeChangeNote } from '#conductor/nodes/node-history.ts';
import { withNodeLock } from '#conductor/nodes/node-lock.ts';
import { getNode, updateNode } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import type { LogicalDisk } from '#shared/raid/target-raid-config.ts';

const managementRoute = routesOf('node management');

const validate = managementRoute.get(
  '/v1/nodes/{node}/validate',
  'Say for each interface whether the node is described well enough to use it',
  answers(200, 'result and reason by interface', Validation),
);

const validateByQuery = managementRoute.get(
  '/v1/nodes/validate',
  'The older form of /v1/nodes/{node}/validate',
  answers(200, 'result and reason by interface', Validation),
  { query: z.strictObject({ node: z.string().optional(), node_uuid: z.string().optional() }) },
);

const maintenanceOn = managementRoute.put(
  '/v1/nodes/{node}/maintenance',
  'Take the node out of service',
  answers(202, 'done'),
  {
    limits: 'usual',
    body: { content: { 'application/json': { schema: z.strictObject({ reason: z.string().nullish() }) } } },
  },
);

const maintenanceOff = managementRoute.delete(
  '/v1/nodes/{node}/maintenance',
  'Put the node back into service',
  answers(202, 'done'),
);

const bootDevicePath = '/v1/nodes/{node}/management/boot_device';

const getBootDevice = managementRoute.get(
  bootDevicePath,
  'Ask the BMC for the boot device',
  answers(200, 'boot_device and persistent, null where the BMC does not report it', BootDevice),
);

const supportedBootDevices = managementRoute.get(
  `${bootDevicePath}/supported`,
  'List the boot devices that can be set',
  answers(200, 'supported_boot_devices', BootDevices),
);

const setBootDevice = managementRoute.put(bootDevicePath, 'Set the boot device', answers(204, 'done'), {
  limits: 'usual',
  body: z.strictObject({ boot_device: z.string(), persistent: queryFlag }),
});

/** Serves `validate`, `maintenance` and `management` of a node. */
export function nodeManagementRoutes(app: ApiApp, context: HttpContext): void {
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
    const { bootDevice, persistent } = await managementOf(await find(c.req.valid('param').node)).getBootDevice();
    const isNamed = bootDevice !== undefined;
    return c.json({ boot_device: bootDevice ?? null, persistent: isNamed ? (persistent ?? null) : null });
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
}

const stateRoute = routesOf('node states');

const bootModeVersion = 76;
const nmiVersion = 29;

const setBootMode = stateRoute.put(
  '/v1/nodes/{node}/states/boot_mode',
  'Ask for a boot mode, which holds from the next boot on',
  answers(202, 'accepted; boot_mode changes later'),
  {
    since: bootModeVersion,
    limits: 'usual',
    body: z.strictObject({ target: z.enum(['uefi', 'bios'], { error: 'must be uefi or bios' }) }),
  },
);

const setSecureBoot = stateRoute.put(
  '/v1/nodes/{node}/states/secure_boot',
  'Ask for secure boot on or off, which holds from the next boot on',
  answers(202, 'accepted; secure_boot changes later'),
  { since: bootModeVersion, limits: 'usual', body: z.strictObject({ target: looseBoolean }) },
);

const injectNmi = managementRoute.put(
  '/v1/nodes/{node}/management/inject_nmi',
  'Send a non-maskable interrupt, for a dump of a system that hangs',
  answers(204, 'sent'),
  {
    since: nmiVersion,
    limits: 'usual',
    body: { content: { 'application/json': { schema: z.strictObject({}, { error: 'must be empty or {}' }) } } },
  },
);

/** Serves `states/boot_mode`, `states/secure_boot` and `management/inject_nmi` of a node. */
export function nodeBootModeRoutes(app: ApiApp, context: HttpContext): void {
  const request = async (c: Context<ApiEnv>, ident: string, wanted: Parameters<typeof requestBootMode>[2]) => {
    const { uuid } = await getNode(context.db, ident);
    await requestBootMode(context, uuid, wanted, c.get('caller'));
    c.header('Location', `${originOf(c)}/v1/nodes/${ident}/states`);
    return c.body(null, 202);
  };
  app.openapi(setBootMode, (c) => request(c, c.req.valid('param').node, { bootMode: c.req.valid('json').target }));
  app.openapi(setSecureBoot, (c) => request(c, c.req.valid('param').node, { secureBoot: c.req.valid('json').target }));

  app.openapi(injectNmi, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    const { management } = context.drivers.connect(node, { node: node.uuid });
    if (!management.injectNmi) {
      throw new AppError('not_supported', `Driver ${node.driver} does not support inject_nmi.`);
    }
    await withNodeLock(context, node.uuid, (signal) => management.injectNmi?.({ signal }) ?? Promise.resolve());
    await writeChangeNote(context.db, node.uuid, changeNote(context, c.get('caller'), 'NMI sent'));
    return c.body(null, 204);
  });
}

const driverRoute = routesOf('drivers');

const since = 12;

const put = stateRoute.put(
  '/v1/nodes/{node}/states/raid',
  'Say what RAID the node shall have; {} = none',
  answers(204, 'kept; cleaning with raid.create_configuration builds it'),
  { limits: 'usual', body: z.record(z.string(), z.unknown(), { error: 'must be a JSON object' }) },
);

const explain = driverRoute.get(
  '/v1/drivers/{driver}/raid/logical_disk_properties',
  'Explain the keys of a logical disk',
  answers(200, 'meaning by key', Meanings),
);

const logicalDiskProperties: Readonly<Record<keyof LogicalDisk, string>> = {
  controller:
    "'software' = made by the agent with md. Anything else is left to a RAID controller, which no driver here speaks " +
    'to. Optional.',
  disk_type: "The type of disks to use: 'hdd' or 'ssd'. Optional.",
  interface_type: "The interface of the disks to use: 'sata', 'scsi' or 'sas'. Optional.",
  is_root_volume: 'Whether the operating system goes here; true for one logical disk at most. Default: false.',
  number_of_physical_disks: 'How many disks to use. Default: what the RAID level needs. Optional.',
  physical_disks:
    'The disks to use: names, or for software RAID at least two objects of root device hints. Needs controller. Optional.',
  raid_level:
    "RAID level: 'JBOD', '0', '1', '2', '5', '6', '1+0', '5+0' or '6+0'; software RAID has '0', '1', '1+0', '5', '6'. " +
    'Required.',
  share_physical_disks: 'Whether other logical disks may use the same disks. Default: false. Optional.',
  size_gb: "Size in GiB, an integer, or 'MAX' for all that is left. Required.",
  volume_name: "The volume's name. Made up where it is missing. Optional.",
};

/** Serves `PUT /v1/nodes/{node}/states/raid`, and what may stand in it. */
export function nodeRaidRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(put, async (c) => {
    requireVersion(c.get('version'), since, 'RAID');
    const { uuid } = await getNode(context.db, c.req.valid('param').node);
    await changeTargetRaidConfig(context, uuid, c.req.valid('json'), c.get('caller'));
    return c.body(null, 204);
  });

  app.openapi(explain, (c) => {
    requireVersion(c.get('version'), since, 'RAID');
    requireDriver(context, c.req.valid('param').driver);
    return c.json(logicalDiskProperties);
  });
}
