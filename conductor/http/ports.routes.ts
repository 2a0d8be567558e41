import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { z } from 'zod';
import { PortDescription } from '#conductor/api/port-description.ts';
import { Port } from '#conductor/api/resources.ts';
import { pageOf } from '#conductor/api/values.ts';
import { type ApiApp, type ApiEnv, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import {
  chooseFieldsAt,
  chooseListFieldsAt,
  requireFields,
  type VersionedFieldSet,
} from '#conductor/http/field-choice.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { nextPage, pagingQuery, parsePaging } from '#conductor/http/paging.ts';
import { answers, fieldsQuery, jsonBody, NodeParams, PortParams, queryFlag } from '#conductor/http/query-values.ts';
import { requireEndpoint, requireVersion } from '#conductor/http/versions.ts';
import type { PortRow } from '#conductor/kernel/db/schema/port.ts';
import { JsonPatch, patchRoots } from '#conductor/kernel/json-patch.ts';
import { findNode, getNode, isUuid } from '#conductor/nodes/node-store.ts';
import { changePort, createPort, removePort } from '#conductor/nodes/ports/change-port.ts';
import {
  defaultPortListFields,
  type PortField,
  portFieldVersions,
  viewPort,
} from '#conductor/nodes/ports/port-fields.ts';
import { getPort, listPorts } from '#conductor/nodes/ports/port-store.ts';
import { getPortgroup } from '#conductor/nodes/ports/portgroup-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

const tags = ['ports'];
const text = z.string().optional();
const listChoice = { ...pagingQuery, fields: fieldsQuery, detail: queryFlag };

const PortListQuery = z.strictObject({
  ...listChoice,
  node: text,
  node_uuid: text,
  address: text,
  portgroup: text,
  shard: text,
});
type PortListQuery = z.infer<typeof PortListQuery>;

const list = createRoute({
  method: 'get',
  path: '/v1/ports',
  tags,
  summary: 'List ports',
  request: { query: PortListQuery },
  responses: answers(200, 'ports, and the address of the next page when this one is full', pageOf('ports', Port)),
});

const listDetail = createRoute({
  ...list,
  path: '/v1/ports/detail',
  summary: 'List ports with all fields',
  request: { query: PortListQuery.omit({ fields: true, detail: true }) },
});

const listOfNode = createRoute({
  method: 'get',
  path: '/v1/nodes/{node}/ports',
  tags,
  summary: 'List the ports of a node',
  request: { params: NodeParams, query: z.strictObject(listChoice) },
  responses: answers(200, 'ports', pageOf('ports', Port)),
});

const listOfPortgroup = createRoute({
  method: 'get',
  path: '/v1/portgroups/{portgroup}/ports',
  tags,
  summary: 'List the ports of a port group',
  request: { params: z.object({ portgroup: z.string() }), query: z.strictObject(listChoice) },
  responses: answers(200, 'ports', pageOf('ports', Port)),
});

const CreateBody = PortDescription.extend({
  address: PortDescription.shape.address.unwrap(),
  uuid: z.guid({ error: 'must be a UUID' }).optional(),
  node_uuid: z.guid({ error: 'must be a UUID' }).optional(),
  node_ident: z.string().optional(),
});

const create = createRoute({
  method: 'post',
  path: '/v1/ports',
  tags,
  summary: 'Add a port to a node',
  request: { body: jsonBody(CreateBody) },
  responses: answers(201, 'the port', Port),
});

const show = createRoute({
  method: 'get',
  path: '/v1/ports/{port}',
  tags,
  summary: 'Show a port',
  request: { params: PortParams, query: z.strictObject({ fields: text }) },
  responses: answers(200, 'the port', Port),
});

const change = createRoute({
  method: 'patch',
  path: '/v1/ports/{port}',
  tags,
  summary: 'Change a port by JSON patch',
  request: { params: PortParams, body: jsonBody(JsonPatch) },
  responses: answers(200, 'the whole port', Port),
});

const remove = createRoute({
  method: 'delete',
  path: '/v1/ports/{port}',
  tags,
  summary: 'Delete a port',
  request: { params: PortParams },
  responses: answers(204, 'gone'),
});

const fieldSet: VersionedFieldSet<PortField> = {
  what: 'port',
  all: Object.keys(portFieldVersions) as PortField[],
  listed: defaultPortListFields,
  versions: portFieldVersions,
};

/** Since when ports are in groups. */
const portgroupVersion = 24;

const fieldVersions = { ...portFieldVersions, node_ident: 94 };

function requirePortUuid(uuid: string): string {
  if (!isUuid(uuid)) throw new AppError('invalid_argument', `Expected UUID for port_uuid: ${uuid}`);
  return uuid.toLowerCase();
}

function answerPort(c: Context<ApiEnv>, port: PortRow, fields?: readonly PortField[]) {
  return {
    ...viewPort(port, { version: c.get('version'), fields }),
    links: linksTo(originOf(c), `ports/${port.uuid}`),
  };
}

/** `/v1/ports`, and the ports of nodes and port groups. */
export function portRoutes(context: HttpContext): ApiApp {
  const { db } = context;
  const app = newApiApp();
  mountLists(app, db);

  app.openapi(create, async (c) => {
    const { node_uuid: nodeUuid, node_ident: nodeIdent, ...description } = c.req.valid('json');
    const given = [...Object.keys(description), ...(nodeIdent === undefined ? [] : ['node_ident'])];
    requireFields(given, fieldVersions, c.get('version'));
    const ident = nodeUuid ?? nodeIdent;
    if (ident === undefined) throw new AppError('invalid_argument', 'Missing mandatory parameter: node_uuid');
    const node = await findNode(db, ident);
    if (!node) throw new AppError('invalid_argument', `Node ${ident} could not be found.`);
    const port = await createPort(context, node.uuid, description, c.get('caller'));
    c.header('Location', `${originOf(c)}/v1/ports/${port.uuid}`);
    return c.json(answerPort(c, port), 201);
  });

  app.openapi(show, async (c) => {
    const { fields } = c.req.valid('query');
    const port = await getPort(db, requirePortUuid(c.req.valid('param').port));
    return c.json(answerPort(c, port, chooseFieldsAt(fields, fieldSet, c.get('version'))));
  });

  app.openapi(change, async (c) => {
    const patch = c.req.valid('json');
    requireFields(patchRoots(patch), fieldVersions, c.get('version'));
    const uuid = requirePortUuid(c.req.valid('param').port);
    return c.json(answerPort(c, await changePort(context, uuid, patch, c.get('caller'))));
  });

  app.openapi(remove, async (c) => {
    await removePort(context, requirePortUuid(c.req.valid('param').port), c.get('caller'));
    return c.body(null, 204);
  });

  return app;
}

function mountLists(app: ApiApp, db: HttpContext['db']): void {
  const answerList = async (
    c: Context<ApiEnv>,
    query: PortListQuery,
    list: {
      readonly path: string;
      readonly fields: readonly PortField[] | undefined;
      readonly nodeUuid?: string;
      readonly portgroupUuid?: string;
    },
  ): Promise<Response> => {
    const paging = parsePaging(query);
    requireFields([paging.sortKey], fieldVersions, c.get('version'));
    if (paging.marker !== undefined) await getPort(db, paging.marker);
    const address = query.address === undefined ? undefined : (parseMacAddress(query.address) ?? query.address);
    const { nodeUuid, portgroupUuid } = list;
    const visibleTo = c.get('caller').project;
    const rows = await listPorts(db, { nodeUuid, portgroupUuid, address, shard: query.shard, visibleTo }, paging);
    const ports = rows.map((row) => answerPort(c, row, list.fields));
    return c.json({ ports, ...nextPage(c, list.path, paging, rows) });
  };

  /** All ports, or those of the node asked for: a node that does not exist has none. */
  const answerFiltered = async (
    c: Context<ApiEnv>,
    query: PortListQuery,
    fields: readonly PortField[] | undefined,
  ): Promise<Response> => {
    const version = c.get('version');
    if (query.shard !== undefined) requireVersion(version, 82, "query argument 'shard'");
    if (query.portgroup !== undefined) requireVersion(version, portgroupVersion, "query argument 'portgroup'");
    const portgroup = query.portgroup === undefined ? undefined : await getPortgroup(db, query.portgroup);
    const ident = query.node ?? query.node_uuid;
    const node = ident === undefined ? undefined : await findNode(db, ident);
    if (ident !== undefined && !node) return c.json({ ports: [] });
    return answerList(c, query, {
      path: new URL(c.req.url).pathname.endsWith('/detail') ? '/v1/ports/detail' : '/v1/ports',
      fields,
      ...(node ? { nodeUuid: node.uuid } : {}),
      ...(portgroup ? { portgroupUuid: portgroup.uuid } : {}),
    });
  };

  app.openapi(list, (c) => {
    const query = c.req.valid('query');
    return answerFiltered(c, query, chooseListFieldsAt(query, fieldSet, c.get('version')));
  });

  app.openapi(listDetail, (c) => answerFiltered(c, c.req.valid('query'), undefined));

  app.openapi(listOfNode, async (c) => {
    const query = c.req.valid('query');
    const node = await getNode(db, c.req.valid('param').node);
    const fields = chooseListFieldsAt(query, fieldSet, c.get('version'));
    return answerList(c, query, { path: `/v1/nodes/${node.uuid}/ports`, fields, nodeUuid: node.uuid });
  });

  app.openapi(listOfPortgroup, async (c) => {
    requireEndpoint(c.get('version'), portgroupVersion);
    const query = c.req.valid('query');
    const { uuid: portgroupUuid } = await getPortgroup(db, c.req.valid('param').portgroup);
    const fields = chooseListFieldsAt(query, fieldSet, c.get('version'));
    return answerList(c, query, { path: `/v1/portgroups/${portgroupUuid}/ports`, fields, portgroupUuid });
  });
}
