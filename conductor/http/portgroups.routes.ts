import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { z } from 'zod';
import { PortgroupDescription } from '#conductor/api/portgroup-description.ts';
import { Portgroup } from '#conductor/api/resources.ts';
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
import { answers, fieldsQuery, jsonBody, NodeParams, queryFlag } from '#conductor/http/query-values.ts';
import { requireEndpoint, requireVersion } from '#conductor/http/versions.ts';
import type { PortgroupRow } from '#conductor/kernel/db/schema/portgroup.ts';
import { JsonPatch, patchRoots } from '#conductor/kernel/json-patch.ts';
import { findNode, getNode } from '#conductor/nodes/node-store.ts';
import { changePortgroup, createPortgroup, removePortgroup } from '#conductor/nodes/ports/change-portgroup.ts';
import {
  defaultPortgroupListFields,
  type PortgroupField,
  portgroupFields,
  portgroupFieldVersions,
  viewPortgroup,
} from '#conductor/nodes/ports/portgroup-fields.ts';
import { getPortgroup, listPortgroups, type PortgroupFilter } from '#conductor/nodes/ports/portgroup-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

const tags = ['port groups'];
const since = 23;
/** Links and lists below nodes and port groups. */
const subVersion = 24;
const path = '/v1/portgroups';
/** UUID or name. */
const PortgroupParams = z.object({ portgroup: z.string() });
const text = z.string().optional();
const listChoice = { ...pagingQuery, fields: fieldsQuery, detail: queryFlag };
const ListQuery = z.strictObject({ ...listChoice, node: text, address: text, shard: text });
type ListQuery = z.infer<typeof ListQuery>;

const fieldSet: VersionedFieldSet<PortgroupField> = {
  what: 'port group',
  all: portgroupFields,
  listed: defaultPortgroupListFields,
  versions: portgroupFieldVersions,
};

const list = createRoute({
  method: 'get',
  path,
  tags,
  summary: 'List port groups',
  request: { query: ListQuery },
  responses: answers(
    200,
    'port groups, and the address of the next page when this one is full',
    pageOf('portgroups', Portgroup),
  ),
});

const listDetail = createRoute({
  ...list,
  path: `${path}/detail`,
  summary: 'List port groups with all fields',
  request: { query: ListQuery.omit({ fields: true, detail: true }) },
});

const listOfNode = createRoute({
  method: 'get',
  path: '/v1/nodes/{node}/portgroups',
  tags,
  summary: 'List the port groups of a node',
  request: { params: NodeParams, query: z.strictObject(listChoice) },
  responses: answers(200, 'port groups', pageOf('portgroups', Portgroup)),
});

const CreateBody = PortgroupDescription.extend({
  node_uuid: z.guid({ error: (issue) => `Expected UUID for node_uuid: ${String(issue.input)}` }),
  uuid: z.guid({ error: 'must be a UUID' }).nullish(),
});

const create = createRoute({
  method: 'post',
  path,
  tags,
  summary: 'Add a port group to a node',
  request: { body: jsonBody(CreateBody) },
  responses: answers(201, 'the port group', Portgroup),
});

const show = createRoute({
  method: 'get',
  path: `${path}/{portgroup}`,
  tags,
  summary: 'Show a port group',
  request: { params: PortgroupParams, query: z.strictObject({ fields: text }) },
  responses: answers(200, 'the port group', Portgroup),
});

const change = createRoute({
  method: 'patch',
  path: `${path}/{portgroup}`,
  tags,
  summary: 'Change a port group by JSON patch',
  request: { params: PortgroupParams, body: jsonBody(JsonPatch) },
  responses: answers(200, 'the whole port group', Portgroup),
});

const remove = createRoute({
  method: 'delete',
  path: `${path}/{portgroup}`,
  tags,
  summary: 'Delete a port group without ports',
  request: { params: PortgroupParams },
  responses: answers(204, 'gone'),
});

function answer(c: Context<ApiEnv>, row: PortgroupRow, fields: readonly PortgroupField[] = portgroupFields) {
  const version = c.get('version');
  const origin = originOf(c);
  const isWhole = fields === portgroupFields && version >= subVersion;
  return {
    ...viewPortgroup(row, { version, fields }),
    links: linksTo(origin, `portgroups/${row.uuid}`),
    ...(isWhole ? { ports: linksTo(origin, `portgroups/${row.uuid}/ports`) } : {}),
  };
}

/** `/v1/portgroups` and `/v1/nodes/{node}/portgroups`; their ports are in `ports.routes.ts`. */
export function portgroupRoutes(context: HttpContext): ApiApp {
  const { db } = context;
  const app = newApiApp();
  mountLists(app, db);

  app.openapi(create, async (c) => {
    const version = c.get('version');
    requireEndpoint(version, since);
    const { node_uuid: ident, uuid, ...description } = c.req.valid('json');
    requireFields(Object.keys(await c.req.json<object>()), portgroupFieldVersions, version);
    const node = await findNode(db, ident);
    if (!node) throw new AppError('invalid_argument', `Node ${ident} could not be found.`);
    const row = await createPortgroup(context, node.uuid, description, {
      uuid: uuid?.toLowerCase(),
      caller: c.get('caller'),
    });
    c.header('Location', `${originOf(c)}${path}/${row.uuid}`);
    return c.json(answer(c, row), 201);
  });

  app.openapi(show, async (c) => {
    const version = c.get('version');
    requireEndpoint(version, since);
    const fields = chooseFieldsAt(c.req.valid('query').fields, fieldSet, version);
    return c.json(answer(c, await getPortgroup(db, c.req.valid('param').portgroup), fields));
  });

  app.openapi(change, async (c) => {
    const version = c.get('version');
    requireEndpoint(version, since);
    const patch = c.req.valid('json');
    requireFields(patchRoots(patch), portgroupFieldVersions, version);
    const row = await getPortgroup(db, c.req.valid('param').portgroup);
    return c.json(answer(c, await changePortgroup(context, row, patch, c.get('caller'))));
  });

  app.openapi(remove, async (c) => {
    requireEndpoint(c.get('version'), since);
    await removePortgroup(context, await getPortgroup(db, c.req.valid('param').portgroup), c.get('caller'));
    return c.body(null, 204);
  });

  return app;
}

function mountLists(app: ApiApp, db: HttpContext['db']): void {
  const answerList = async (
    c: Context<ApiEnv>,
    query: z.infer<z.ZodObject<typeof listChoice>>,
    place: { readonly path: string; readonly fields: readonly PortgroupField[]; readonly filter: PortgroupFilter },
  ): Promise<Response> => {
    const paging = parsePaging(query);
    requireFields([paging.sortKey], portgroupFieldVersions, c.get('version'));
    if (paging.marker !== undefined) await getPortgroup(db, paging.marker);
    const rows = await listPortgroups(db, { ...place.filter, visibleTo: c.get('caller').project }, paging);
    return c.json({
      portgroups: rows.map((row) => answer(c, row, place.fields)),
      ...nextPage(c, place.path, paging, rows),
    });
  };

  const filterOf = async (query: ListQuery, version: number): Promise<PortgroupFilter> => {
    const { node: ident, address, shard } = query;
    if (shard !== undefined) requireVersion(version, 82, "query argument 'shard'");
    const node = ident === undefined ? undefined : await getNode(db, ident);
    return {
      nodeUuid: node?.uuid,
      address: address === undefined ? undefined : (parseMacAddress(address) ?? address),
      shard,
    };
  };

  app.openapi(list, async (c) => {
    const version = c.get('version');
    requireEndpoint(version, since);
    const query = c.req.valid('query');
    const fields = chooseListFieldsAt(query, fieldSet, version);
    return answerList(c, query, { path, fields, filter: await filterOf(query, version) });
  });

  app.openapi(listDetail, async (c) => {
    const version = c.get('version');
    requireEndpoint(version, since);
    const query = c.req.valid('query');
    const filter = await filterOf(query, version);
    return answerList(c, query, { path: `${path}/detail`, fields: portgroupFields, filter });
  });

  app.openapi(listOfNode, async (c) => {
    const version = c.get('version');
    requireEndpoint(version, subVersion);
    const query = c.req.valid('query');
    const { uuid: nodeUuid } = await getNode(db, c.req.valid('param').node);
    const fields = chooseListFieldsAt(query, fieldSet, version);
    return answerList(c, query, { path: `/v1/nodes/${nodeUuid}/portgroups`, fields, filter: { nodeUuid } });
  });
}
