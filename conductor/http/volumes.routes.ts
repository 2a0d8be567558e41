import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { VolumeConnector, VolumeIndex, VolumeTarget } from '#conductor/api/node-parts.ts';
import { type ApiApp, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { answers, jsonBody, NodeParams } from '#conductor/http/query-values.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import {
  answerVolume,
  mountVolumeOperations,
  type VolumeResource,
  volumeTags,
  volumeVersion,
} from '#conductor/http/volume-operations.ts';
import type { VolumeConnectorRow, VolumeTargetRow } from '#conductor/kernel/db/schema/volume.ts';
import { findNode, getNode } from '#conductor/nodes/node-store.ts';
import {
  changeConnector,
  changeTarget,
  createConnector,
  createTarget,
  removeConnector,
  removeTarget,
} from '#conductor/nodes/volumes/change-volume.ts';
import { getConnector, listConnectors } from '#conductor/nodes/volumes/connector-store.ts';
import { getTarget, listTargets } from '#conductor/nodes/volumes/target-store.ts';
import {
  ConnectorDescription,
  type ConnectorField,
  connectorFields,
  defaultConnectorListFields,
  defaultTargetListFields,
  TargetDescription,
  type TargetField,
  targetFields,
  viewConnector,
  viewTarget,
} from '#conductor/nodes/volumes/volume-fields.ts';
import { AppError } from '#shared/errors/app-error.ts';

const connectors: VolumeResource<VolumeConnectorRow, ConnectorField> = {
  key: 'connectors',
  what: 'volume connector',
  schema: VolumeConnector,
  fields: connectorFields,
  listed: defaultConnectorListFields,
  view: viewConnector,
  list: listConnectors,
  get: getConnector,
  change: changeConnector,
  remove: removeConnector,
};

const targets: VolumeResource<VolumeTargetRow, TargetField> = {
  key: 'targets',
  what: 'volume target',
  schema: VolumeTarget,
  fields: targetFields,
  listed: defaultTargetListFields,
  view: viewTarget,
  list: listTargets,
  get: getTarget,
  change: changeTarget,
  remove: removeTarget,
};

const identity = {
  /** UUID or name. */
  node_uuid: z.string(),
  uuid: z.guid({ error: 'must be a UUID' }).nullish(),
};

const postConnector = createRoute({
  method: 'post',
  path: '/v1/volume/connectors',
  tags: volumeTags,
  summary: 'Say how a node reaches remote storage',
  request: { body: jsonBody(ConnectorDescription.extend(identity)) },
  responses: answers(201, 'the connector', VolumeConnector),
});

const postTarget = createRoute({
  method: 'post',
  path: '/v1/volume/targets',
  tags: volumeTags,
  summary: 'Give a node a remote volume',
  request: { body: jsonBody(TargetDescription.extend(identity)) },
  responses: answers(201, 'the target', VolumeTarget),
});

/** `/v1/volume`, its connectors and targets, and the same below a node. */
export function volumeRoutes(context: HttpContext): ApiApp {
  const app = newApiApp();
  const resolve = async (ident: string): Promise<string> => {
    const node = await findNode(context.db, ident);
    if (!node) throw new AppError('invalid_argument', `Node ${ident} could not be found.`);
    return node.uuid;
  };

  mountIndexes(app, context);
  mountVolumeOperations(app, context, connectors);
  mountVolumeOperations(app, context, targets);

  app.openapi(postConnector, async (c) => {
    requireEndpoint(c.get('version'), volumeVersion);
    const { node_uuid: ident, uuid, ...description } = c.req.valid('json');
    const row = await createConnector(context, await resolve(ident), description, {
      uuid: uuid?.toLowerCase(),
      caller: c.get('caller'),
    });
    c.header('Location', `${originOf(c)}/v1/volume/connectors/${row.uuid}`);
    return c.json(answerVolume(c, connectors, row), 201);
  });

  app.openapi(postTarget, async (c) => {
    requireEndpoint(c.get('version'), volumeVersion);
    const { node_uuid: ident, uuid, ...description } = c.req.valid('json');
    const row = await createTarget(context, await resolve(ident), description, {
      uuid: uuid?.toLowerCase(),
      caller: c.get('caller'),
    });
    c.header('Location', `${originOf(c)}/v1/volume/targets/${row.uuid}`);
    return c.json(answerVolume(c, targets, row), 201);
  });

  return app;
}

function mountIndexes(app: ApiApp, context: HttpContext): void {
  const index = (origin: string, place: string) => ({
    links: linksTo(origin, `${place}/`),
    connectors: linksTo(origin, `${place}/connectors`),
    targets: linksTo(origin, `${place}/targets`),
  });
  const shared = {
    method: 'get',
    tags: volumeTags,
    summary: 'Say where connectors and targets are',
    responses: answers(200, 'links', VolumeIndex),
  } as const;
  app.openapi(createRoute({ ...shared, path: '/v1/volume' }), (c) => {
    requireEndpoint(c.get('version'), volumeVersion);
    return c.json(index(originOf(c), 'volume'));
  });
  app.openapi(
    createRoute({ ...shared, path: '/v1/nodes/{node}/volume', request: { params: NodeParams } }),
    async (c) => {
      requireEndpoint(c.get('version'), volumeVersion);
      const { uuid } = await getNode(context.db, c.req.valid('param').node);
      return c.json(index(originOf(c), `nodes/${uuid}/volume`));
    },
  );
}
