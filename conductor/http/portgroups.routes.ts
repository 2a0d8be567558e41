import { z } from 'zod';
import { Portgroup, PortgroupDescription } from '#conductor/api/portgroups.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { mountResource } from '#conductor/http/mount-resource.ts';
import { portgroupResource } from '#conductor/nodes/ports/portgroup.ts';

/** Links and lists below nodes and port groups. */
const subVersion = 24;

/** `/v1/portgroups` and `/v1/nodes/{node}/portgroups`; their ports are in `ports.routes.ts`. */
export function portgroupRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  mountResource(app, context, {
    resource: portgroupResource,
    path: '/v1/portgroups',
    key: 'portgroups',
    param: 'portgroup',
    plural: 'port groups',
    tag: 'port groups',
    answer: Portgroup,
    body: PortgroupDescription.extend({
      node_uuid: z.guid({ error: (issue) => `Expected UUID for node_uuid: ${String(issue.input)}` }),
      uuid: z.guid({ error: 'must be a UUID' }).nullish(),
    }),
    summaries: {
      create: 'Add a port group to a node',
      change: 'Change a port group by JSON patch',
      remove: 'Delete a port group without ports',
    },
    hasDetail: true,
    below: { key: 'ports', since: subVersion },
    filters: { node: 23, address: 23, shard: 82 },
    lists: [
      {
        parents: 'nodes',
        param: 'node',
        path: 'portgroups',
        summary: 'List the port groups of a node',
        since: subVersion,
        column: 'nodeUuid',
        hasDetail: true,
      },
    ],
  });
  return app;
}
