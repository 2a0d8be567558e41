import { z } from 'zod';
import { NodeNetwork, Vifs } from '#conductor/api/node-parts.ts';
import { repairSwitchPorts } from '#conductor/flows/network/look-at-switch-ports.ts';
import { readNodeNetwork } from '#conductor/flows/network/node-network.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, answers, queryFlag, routesOf } from '#conductor/http/routing/define-routes.ts';
import { requireEndpoint } from '#conductor/http/routing/versions.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import { attachNetwork, detachNetwork } from '#conductor/nodes/ports/attach-vif.ts';
import { listVifs } from '#conductor/nodes/ports/port-store.ts';

const networkRoute = routesOf("node networks (Baton's own)");

const showNetwork = networkRoute.get(
  '/v1/nodes/{node}/network',
  "Show where Baton has put the node's switch ports, and where they were found",
  answers(200, 'ports that Baton has set', NodeNetwork),
  {
    query: z.strictObject({ look: queryFlag.optional() }),
    description: 'With look=true the switches are read now; else found is what the last look found.',
  },
);

const repair = networkRoute.post(
  '/v1/nodes/{node}/network/repair',
  "Put the node's switch ports back where Baton has set them last",
  answers(204, 'done, and read back'),
);

/** Serves `/v1/nodes/{node}/network`. */
export function nodeNetworkRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(showNetwork, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    return c.json({ ports: await readNodeNetwork(context, node, { look: c.req.valid('query').look ?? false }) });
  });

  app.openapi(repair, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    await repairSwitchPorts(context, node, c.get('caller'));
    return c.body(null, 204);
  });
}

const vifRoute = routesOf('node networks');
const vifVersion = 28;
const vifPlaceVersion = 67;

const VifRequest = z
  .looseObject({
    id: z.string().min(1).max(255),
    port_uuid: z.uuid().optional().meta({ description: 'The port it takes; from 1.67.' }),
    portgroup_uuid: z.uuid().optional().meta({ description: 'The port group it takes; from 1.67.' }),
  })
  .refine((vif) => vif.port_uuid === undefined || vif.portgroup_uuid === undefined, {
    error: 'give port_uuid or portgroup_uuid, not both',
    path: ['portgroup_uuid'],
  });

const list = vifRoute.get(
  '/v1/nodes/{node}/vifs',
  'List the networks attached to the node',
  answers(200, 'vifs', Vifs),
  { since: vifVersion },
);

const attach = vifRoute.post(
  '/v1/nodes/{node}/vifs',
  'Attach a tenant network: its name in the networks file, or a port of Neutron',
  answers(204, 'attached; the next deploy puts the node there'),
  {
    since: vifVersion,
    limits: 'usual',
    body: VifRequest,
    description:
      'With neither port_uuid nor portgroup_uuid a single network takes all ports, and each of several a free one.',
  },
);

const detach = vifRoute.delete('/v1/nodes/{node}/vifs/{vif}', 'Detach a tenant network', answers(204, 'detached'), {
  since: vifVersion,
});

/** Serves `/v1/nodes/{node}/vifs`. As in Ironic, the noop network interface accepts everything and keeps nothing. */
export function nodeVifRoutes(app: ApiApp, context: HttpContext): void {
  app.openapi(list, async (c) => {
    const node = await getNode(context.db, c.req.valid('param').node);
    const vifs = await listVifs(context.db, node.uuid);
    return c.json({ vifs: vifs.map(({ id }) => ({ id })) });
  });

  app.openapi(attach, async (c) => {
    const { id, port_uuid: portUuid = null, portgroup_uuid: portgroupUuid = null } = c.req.valid('json');
    if (portUuid !== null || portgroupUuid !== null) requireEndpoint(c.get('version'), vifPlaceVersion);
    const node = await getNode(context.db, c.req.valid('param').node);
    await attachNetwork(context, node, { id, portUuid, portgroupUuid }, c.get('caller'));
    return c.body(null, 204);
  });

  app.openapi(detach, async (c) => {
    const { node: ident, vif } = c.req.valid('param');
    const node = await getNode(context.db, ident);
    await detachNetwork(context, node, vif, c.get('caller'));
    return c.body(null, 204);
  });
}
