import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { z } from 'zod';
import type { ConductorContext } from '#conductor/context.ts';
import type { PortRow } from '#conductor/db/schema/port.ts';
import { type ApiApp, type ApiEnv, newApiApp } from '#conductor/http/api-app.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { nextPage, pagingQuery, parsePaging } from '#conductor/http/paging.ts';
import { answers, jsonBody, NodeParams, PortParams, queryFlag } from '#conductor/http/query-values.ts';
import { requireVersion } from '#conductor/http/versions.ts';
import { changePort, createPort, removePort } from '#conductor/nodes/change-port.ts';
import { JsonPatch, patchRoots } from '#conductor/nodes/json-patch.ts';
import { findNode, getNode, isUuid } from '#conductor/nodes/node-store.ts';
import {
  defaultPortListFields,
  isPortField,
  PortDescription,
  type PortField,
  portFieldVersions,
  viewPort,
} from '#conductor/nodes/port-fields.ts';
import { getPort, listPorts } from '#conductor/nodes/port-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

const tags = ['ports'];
const text = z.string().optional();
const listChoice = { ...pagingQuery, fields: text, detail: queryFlag };

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
  responses: answers(200, 'ports, and the address of the next page when this one is full'),
});

const listDetail = createRoute({ ...list, path: '/v1/ports/detail', summary: 'List ports with all fields' });

const listOfNode = createRoute({
  method: 'get',
  path: '/v1/nodes/{node}/ports',
  tags,
  summary: 'List the ports of a node',
  request: { params: NodeParams, query: z.strictObject(listChoice) },
  responses: answers(200, 'ports'),
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
  responses: answers(201, 'the port'),
});

const show = createRoute({
  method: 'get',
  path: '/v1/ports/{port}',
  tags,
  summary: 'Show a port',
  request: { params: PortParams, query: z.strictObject({ fields: text }) },
  responses: answers(200, 'the port'),
});

const change = createRoute({
  method: 'patch',
  path: '/v1/ports/{port}',
  tags,
  summary: 'Change a port by JSON patch',
  request: { params: PortParams, body: jsonBody(JsonPatch) },
  responses: answers(200, 'the whole port'),
});

const remove = createRoute({
  method: 'delete',
  path: '/v1/ports/{port}',
  tags,
  summary: 'Delete a port',
  request: { params: PortParams },
  responses: answers(204, 'gone'),
});

const fieldVersions: Readonly<Record<string, number>> = { ...portFieldVersions, node_ident: 94 };

/** @throws AppError `not_acceptable` for a field that the version in use does not have. */
function requireFields(names: readonly string[], version: number): void {
  for (const name of names) requireVersion(version, fieldVersions[name] ?? 1, `field '${name}'`);
}

/** @throws AppError `invalid_argument` for a field that does not exist. */
function parseFields(names: string, version: number): PortField[] {
  const wanted = names.split(',').map((name) => name.trim());
  const unknown = wanted.find((name) => !isPortField(name) && name !== 'links');
  if (unknown !== undefined) throw new AppError('invalid_argument', `fields: a port has no field '${unknown}'`);
  requireFields(wanted, version);
  return wanted.filter(isPortField);
}

function chooseFields(
  query: { readonly fields?: string | undefined; readonly detail?: boolean | undefined },
  version: number,
): readonly PortField[] | undefined {
  if (query.detail !== undefined) requireVersion(version, 43, "query argument 'detail'");
  if (query.detail && query.fields !== undefined) {
    throw new AppError('invalid_argument', 'Can not specify ?detail=True and fields in the same request.');
  }
  if (query.detail) return undefined;
  return query.fields === undefined ? defaultPortListFields : parseFields(query.fields, version);
}

function requirePortUuid(uuid: string): string {
  if (!isUuid(uuid)) throw new AppError('invalid_argument', `Expected UUID for port_uuid: ${uuid}`);
  return uuid.toLowerCase();
}

/** `/v1/ports` and `/v1/nodes/{node}/ports`. */
export function portRoutes(context: ConductorContext): ApiApp {
  const { db } = context;
  const app = newApiApp();

  const answerPort = (c: Context<ApiEnv>, port: PortRow, fields?: readonly PortField[]) => ({
    ...viewPort(port, { version: c.get('version'), fields }),
    links: linksTo(originOf(c), `ports/${port.uuid}`),
  });

  const answerList = async (
    c: Context<ApiEnv>,
    query: PortListQuery,
    list: { readonly path: string; readonly fields: readonly PortField[] | undefined; readonly nodeUuid?: string },
  ): Promise<Response> => {
    const paging = parsePaging(query);
    if (paging.marker !== undefined) await getPort(db, paging.marker);
    const address = query.address === undefined ? undefined : (parseMacAddress(query.address) ?? query.address);
    const rows = await listPorts(db, { nodeUuid: list.nodeUuid, address, shard: query.shard }, paging);
    const ports = rows.map((row) => answerPort(c, row, list.fields));
    return c.json({ ports, ...nextPage(c.req.url, list.path, paging, rows) });
  };

  /** All ports, or those of the node asked for: a node that does not exist has none. */
  const answerFiltered = async (
    c: Context<ApiEnv>,
    query: PortListQuery,
    fields: readonly PortField[] | undefined,
  ): Promise<Response> => {
    const version = c.get('version');
    if (query.shard !== undefined) requireVersion(version, 82, "query argument 'shard'");
    const ident = query.node ?? query.node_uuid;
    const node = ident === undefined ? undefined : await findNode(db, ident);
    // Baton has no port groups, so no port is in one
    if ((ident !== undefined && !node) || query.portgroup !== undefined) return c.json({ ports: [] });
    return answerList(c, query, { path: '/v1/ports', fields, ...(node ? { nodeUuid: node.uuid } : {}) });
  };

  app.openapi(list, (c) => {
    const query = c.req.valid('query');
    return answerFiltered(c, query, chooseFields(query, c.get('version')));
  });

  app.openapi(listDetail, (c) => answerFiltered(c, c.req.valid('query'), undefined));

  app.openapi(listOfNode, async (c) => {
    const query = c.req.valid('query');
    const node = await getNode(db, c.req.valid('param').node);
    const fields = chooseFields(query, c.get('version'));
    return answerList(c, query, { path: `/v1/nodes/${node.uuid}/ports`, fields, nodeUuid: node.uuid });
  });

  app.openapi(create, async (c) => {
    const { node_uuid: nodeUuid, node_ident: nodeIdent, ...description } = c.req.valid('json');
    requireFields([...Object.keys(description), ...(nodeIdent === undefined ? [] : ['node_ident'])], c.get('version'));
    const ident = nodeUuid ?? nodeIdent;
    if (ident === undefined) throw new AppError('invalid_argument', 'Missing mandatory parameter: node_uuid');
    const node = await findNode(db, ident);
    if (!node) throw new AppError('invalid_argument', `Node ${ident} could not be found.`);
    const port = await createPort(context, node.uuid, description);
    c.header('Location', `${originOf(c)}/v1/ports/${port.uuid}`);
    return c.json(answerPort(c, port), 201);
  });

  app.openapi(show, async (c) => {
    const { fields } = c.req.valid('query');
    const port = await getPort(db, requirePortUuid(c.req.valid('param').port));
    return c.json(answerPort(c, port, fields === undefined ? undefined : parseFields(fields, c.get('version'))));
  });

  app.openapi(change, async (c) => {
    const patch = c.req.valid('json');
    requireFields(patchRoots(patch), c.get('version'));
    return c.json(answerPort(c, await changePort(context, requirePortUuid(c.req.valid('param').port), patch)));
  });

  app.openapi(remove, async (c) => {
    await removePort(context, requirePortUuid(c.req.valid('param').port));
    return c.body(null, 204);
  });

  return app;
}
