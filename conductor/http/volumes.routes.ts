import { z } from 'zod';
import {
  ConnectorDescription,
  TargetDescription,
  VolumeConnector,
  VolumeIndex,
  VolumeTarget,
} from '#conductor/api/volumes.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { answers, routesOf } from '#conductor/http/define-routes.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { mountResource } from '#conductor/http/mount-resource.ts';
import type { ResourcePlace } from '#conductor/http/resource-routes.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import { getNode } from '#conductor/nodes/node-store.ts';
import type { Resource, ResourceRow } from '#conductor/nodes/resources/resource.ts';
import { connectorResource, targetResource } from '#conductor/nodes/volumes/volume.ts';

const { since } = connectorResource;
const tag = 'volumes';
const identity = {
  /** UUID or name. */
  node_uuid: z.string(),
  uuid: z.guid({ error: 'must be a UUID' }).nullish(),
};

/** `/v1/volume`, its connectors and targets, and the same below a node. */
export function volumeRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  mountIndexes(app, context);
  mountResource(app, context, {
    ...placeOf('connectors', connectorResource, 'Say how a node reaches remote storage'),
    answer: VolumeConnector,
    body: ConnectorDescription.extend(identity),
  });
  mountResource(app, context, {
    ...placeOf('targets', targetResource, 'Give a node a remote volume'),
    answer: VolumeTarget,
    body: TargetDescription.extend(identity),
  });
  return app;
}

function placeOf<Row extends ResourceRow>(key: string, resource: Resource<Row>, create: string) {
  const { what } = resource;
  return {
    resource,
    key,
    path: `/v1/volume/${key}`,
    param: 'volume',
    uuidWord: `a ${what}`,
    plural: `${what}s`,
    tag,
    filters: { node: since },
    summaries: {
      create,
      change: `Change a ${what} by JSON patch while its node is off`,
      remove: `Delete a ${what} while its node is off`,
    },
    lists: [
      {
        parents: 'nodes',
        param: 'node',
        path: `volume/${key}`,
        summary: `List the ${what}s of a node`,
        since,
        column: 'nodeUuid',
      },
    ],
  } as const satisfies Partial<ResourcePlace<Row>>;
}

function mountIndexes(app: ApiApp, context: HttpContext): void {
  const index = (origin: string, place: string) => ({
    links: linksTo(origin, `${place}/`),
    connectors: linksTo(origin, `${place}/connectors`),
    targets: linksTo(origin, `${place}/targets`),
  });
  const route = routesOf(tag);
  const get = <const Path extends string>(path: Path) =>
    route.get(path, 'Say where connectors and targets are', answers(200, 'links', VolumeIndex));
  app.openapi(get('/v1/volume'), (c) => {
    requireEndpoint(c.get('version'), since);
    return c.json(index(originOf(c), 'volume'));
  });
  app.openapi(get('/v1/nodes/{node}/volume'), async (c) => {
    requireEndpoint(c.get('version'), since);
    const { uuid } = await getNode(context.db, c.req.valid('param').node);
    return c.json(index(originOf(c), `nodes/${uuid}/volume`));
  });
}
