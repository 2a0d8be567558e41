import type { Context } from 'hono';
import { hideKeys, requireKeys, requirePatchedKeys } from '#conductor/http/resources/document-keys.ts';
import {
  describeRoutes,
  type ListBelow,
  type ListQuery,
  type ResourcePlace,
} from '#conductor/http/resources/resource-routes.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import type { HttpContext } from '#conductor/http/routing/context.ts';
import { type ApiApp, linksTo, originOf } from '#conductor/http/routing/define-routes.ts';
import {
  chooseFieldsAt,
  chooseListFieldsAt,
  nextPage,
  parsePaging,
  requireFields,
  requirePatch,
} from '#conductor/http/routing/list-queries.ts';
import { requireVersion } from '#conductor/http/routing/versions.ts';
import { findNode, getNode, isUuid } from '#conductor/nodes/node-store.ts';
import { portgroupResource } from '#conductor/nodes/ports/port.ts';
import { changeResource, createResource, removeResource } from '#conductor/nodes/resources/change-resource.ts';
import { type ResourceRow, viewRow } from '#conductor/nodes/resources/resource.ts';
import { getRow, listRows, type RowFilter } from '#conductor/nodes/resources/resource-store.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { parseMacAddress } from '#shared/mac-address.ts';

/** Which objects a list has, and where its next page is; without filter it has none. */
interface ListPlace {
  readonly path: string;
  readonly fields: readonly string[];
  readonly filter: RowFilter | undefined;
}

/** Mounts all operations of a resource that its table names. */
export function mountResource<Row extends ResourceRow>(
  app: ApiApp,
  context: HttpContext,
  place: ResourcePlace<Row>,
): void {
  const { db } = context;
  const { resource, path, documentKeys = {} } = place;
  const routes = describeRoutes(place);
  const writtenVersions = { ...resource.versions, ...place.alsoWritten };
  mountLists(app, context, place, routes);

  app.openapi(routes.create, async (c) => {
    // the schema has let an empty body pass: of these fields none need be given
    const body = c.get('isEmpty') ? {} : await c.req.json<object>();
    requireFields(Object.keys(body), writtenVersions, c.get('version'));
    requireKeys(documentKeys, body as Record<string, unknown>, c.get('version'));
    const { uuid, node_uuid: nodeUuid, node_ident: nodeIdent, ...description } = c.req.valid('json');
    const identity = {
      uuid: typeof uuid === 'string' ? uuid.toLowerCase() : undefined,
      nodeUuid: 'nodeUuid' in resource.table ? await resolveNode(context, nodeUuid ?? nodeIdent) : undefined,
    };
    const completed = { ...description, ...place.completes?.(description, c.get('version')) };
    const row = await createResource(context, resource, identity, completed, c.get('caller'));
    c.header('Location', `${originOf(c)}${path}/${row.uuid}`);
    return c.json(viewWithLinks(c, place, row), 201);
  });

  app.openapi(routes.show, async (c) => {
    const fields = chooseFieldsAt(c.req.valid('query').fields, resource, c.get('version'));
    return c.json(
      viewWithLinks(c, place, await getRow(db, resource, identOf(c, place), c.get('caller').project), fields),
    );
  });

  app.openapi(routes.change, async (c) => {
    const patch = c.req.valid('json');
    requirePatch(patch, writtenVersions, c.get('version'));
    requirePatchedKeys(documentKeys, patch, c.get('version'));
    const row = await changeResource(context, resource, identOf(c, place), patch, c.get('caller'));
    return c.json(viewWithLinks(c, place, row));
  });

  app.openapi(routes.remove, async (c) => {
    await removeResource(context, resource, identOf(c, place), c.get('caller'));
    return c.body(null, 204);
  });
}

function mountLists<Row extends ResourceRow>(
  app: ApiApp,
  context: HttpContext,
  place: ResourcePlace<Row>,
  routes: ReturnType<typeof describeRoutes<Row>>,
): void {
  const { db } = context;
  const { resource } = place;
  const answerList = async (c: Context<ApiEnv>, query: ListQuery, { path, fields, filter }: ListPlace) => {
    const paging = parsePaging(query);
    requireFields([paging.sortKey], { ...resource.versions, ...place.alsoWritten }, c.get('version'));
    if (!filter) return c.json({ [place.key]: [] }, 200);
    if (paging.marker !== undefined) await getRow(db, resource, paging.marker, c.get('caller').project);
    const rows = await listRows(db, resource, { ...filter, visibleTo: c.get('caller').project }, paging);
    const shown = rows.map((row) => viewWithLinks(c, place, row, fields));
    return c.json({ [place.key]: shown, ...nextPage(c, path, paging, rows) }, 200);
  };

  app.openapi(routes.list, async (c) => {
    const query: ListQuery = c.req.valid('query');
    const fields = chooseListFieldsAt(query, resource, c.get('version'));
    return answerList(c, query, { path: place.path, fields, filter: await filterOf(c, context, place, query) });
  });
  if (place.hasDetail) {
    app.openapi(routes.listDetail, async (c) => {
      const query: ListQuery = c.req.valid('query');
      const filter = await filterOf(c, context, place, query);
      return answerList(c, query, { path: `${place.path}/detail`, fields: resource.all, filter });
    });
  }
  for (const { route, detail, ...below } of routes.below) {
    const answerBelow = async (c: Context<ApiEnv>, query: ListQuery, fields: readonly string[], end = '') => {
      const parent = await getParent(context, below, c.req.param(below.param) ?? '');
      const path = `/v1/${below.parents}/${parent}/${below.path}${end}`;
      return answerList(c, query, { path, fields, filter: { where: { [below.column]: parent } } });
    };
    app.openapi(route, async (c) => {
      const query = c.req.valid('query');
      return answerBelow(c, query, chooseListFieldsAt(query, resource, c.get('version')));
    });
    if (!below.hasDetail) continue;
    app.openapi(detail, async (c) => {
      return answerBelow(c, c.req.valid('query'), resource.all, '/detail');
    });
  }
}

/** Makes the object with its links; those to what is below it where all is shown. */
function viewWithLinks<Row extends ResourceRow>(
  c: Context<ApiEnv>,
  { resource, path, below, documentKeys = {} }: ResourcePlace<Row>,
  row: Row,
  fields: readonly string[] = resource.all,
): Record<string, unknown> {
  const version = c.get('version');
  const own = `${path.replace('/v1/', '')}/${row.uuid}`;
  const isWhole = below && fields === resource.all && version >= below.since;
  return {
    ...hideKeys(documentKeys, viewRow(resource, row, { fields, version }), version),
    links: linksTo(originOf(c), own),
    ...(isWhole ? { [below.key]: linksTo(originOf(c), `${own}/${below.key}`) } : {}),
  };
}

function identOf<Row extends ResourceRow>(c: Context<ApiEnv>, { param, uuidWord }: ResourcePlace<Row>): string {
  const ident = c.req.param(param) ?? '';
  return uuidWord === undefined ? ident : requireUuid(ident, uuidWord);
}

/** @param word what the message calls it: `chassis_uuid`. @throws AppError `invalid_argument`. */
export function requireUuid(text: string, word: string): string {
  if (!isUuid(text)) throw new AppError('invalid_argument', `Expected UUID for ${word}: ${text}`);
  return text.toLowerCase();
}

async function resolveNode({ db }: HttpContext, ident: unknown): Promise<string> {
  if (typeof ident !== 'string') throw new AppError('invalid_argument', 'Missing mandatory parameter: node_uuid');
  const node = await findNode(db, ident);
  if (!node) throw new AppError('invalid_argument', `Node ${ident} could not be found.`);
  return node.uuid;
}

async function getParent({ db }: HttpContext, { column }: ListBelow, ident: string): Promise<string> {
  const parent = column === 'nodeUuid' ? await getNode(db, ident) : await getRow(db, portgroupResource, ident);
  return parent.uuid;
}

/** Makes the filter that a list's query asks for; `undefined` = nothing that there is. */
async function filterOf<Row extends ResourceRow>(
  c: Context<ApiEnv>,
  { db }: HttpContext,
  { filters = {} }: ResourcePlace<Row>,
  query: ListQuery,
): Promise<RowFilter | undefined> {
  const given = Object.fromEntries(
    Object.entries(filters).flatMap(([name, since]) => {
      const value = query[name];
      if (typeof value !== 'string') return [];
      requireVersion(c.get('version'), since, `query argument '${name}'`);
      return [[name, value] as const];
    }),
  );
  const { node: ident, node_uuid: identToo, address, portgroup, shard } = given;
  // Ironic's API reference has the one name, its code the other
  const conductorGroup = given['conductor_group'] ?? given['conductor_groups'];
  const beside = ['node', 'node_uuid', 'portgroup', 'address'].find((name) => Object.hasOwn(given, name));
  if (conductorGroup !== undefined && beside !== undefined)
    throw new AppError('invalid_argument', `Filtering by conductor_group cannot be combined with ${beside}.`);
  const group = portgroup === undefined ? undefined : await getRow(db, portgroupResource, portgroup);
  const asked = ident ?? identToo;
  // a node that does not exist has no ports: Ironic makes a fault of it in the other lists only
  const find = Object.hasOwn(filters, 'node_uuid') ? findNode : getNode;
  const node = asked === undefined ? undefined : await find(db, asked);
  if (asked !== undefined && !node) return undefined;
  return {
    shard,
    conductorGroup,
    where: {
      nodeUuid: node?.uuid,
      portgroupUuid: group?.uuid,
      address: address === undefined ? undefined : (parseMacAddress(address) ?? address),
    },
  };
}
