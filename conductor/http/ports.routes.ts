import { z } from 'zod';
import { Port, PortDescription } from '#conductor/api/ports.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { mountResource } from '#conductor/http/mount-resource.ts';
import { portResource } from '#conductor/nodes/ports/port.ts';

/** `/v1/ports`, and the ports of nodes and port groups. */
export function portRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  mountResource(app, context, {
    resource: portResource,
    path: '/v1/ports',
    key: 'ports',
    param: 'port',
    uuidWord: 'port_uuid',
    plural: 'ports',
    tag: 'ports',
    answer: Port,
    body: PortDescription.extend({
      address: PortDescription.shape.address.unwrap(),
      uuid: z.guid({ error: 'must be a UUID' }).optional(),
      node_uuid: z.guid({ error: 'must be a UUID' }).optional(),
      node_ident: z.string().optional(),
    }),
    alsoWritten: { node_ident: 94 },
    summaries: {
      create: 'Add a port to a node',
      change: 'Change a port by JSON patch',
      remove: 'Delete a port',
    },
    hasDetail: true,
    filters: { node: 1, node_uuid: 1, address: 1, portgroup: 24, shard: 82 },
    lists: [
      {
        parents: 'nodes',
        param: 'node',
        path: 'ports',
        summary: 'List the ports of a node',
        since: 1,
        column: 'nodeUuid',
        hasDetail: true,
      },
      {
        parents: 'portgroups',
        param: 'portgroup',
        path: 'ports',
        summary: 'List the ports of a port group',
        since: 24,
        column: 'portgroupUuid',
        hasDetail: true,
      },
    ],
  });
  return app;
}
