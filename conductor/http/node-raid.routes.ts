import { z } from 'zod';
import { Meanings } from '#conductor/api/node-parts.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { requireDriver } from '#conductor/http/require-driver.ts';
import { requireVersion } from '#conductor/http/versions.ts';
import { changeTargetRaidConfig } from '#conductor/nodes/change-raid-config.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import type { LogicalDisk } from '#shared/raid/target-raid-config.ts';

const route0 = routesOf('node states');
const route1 = routesOf('drivers');

const since = 12;

const put = route0.put(
  '/v1/nodes/{node}/states/raid',
  'Say what RAID the node shall have; {} = none',
  answers(204, 'kept; cleaning with raid.create_configuration builds it'),
  { body: z.record(z.string(), z.unknown(), { error: 'must be a JSON object' }) },
);

const explain = route1.get(
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

/** `PUT /v1/nodes/{node}/states/raid`, and what may stand in it. */
export function nodeRaidRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();

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

  return app;
}
