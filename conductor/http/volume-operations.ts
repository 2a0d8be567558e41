import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { z } from 'zod';
import { pageOf } from '#conductor/api/values.ts';
import type { ApiApp, ApiEnv } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import { chooseFields, chooseListFields, type FieldSet, plainListQuery } from '#conductor/http/field-choice.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { nextPage, parsePaging } from '#conductor/http/paging.ts';
import { answers, jsonBody, NodeParams } from '#conductor/http/query-values.ts';
import { requireEndpoint } from '#conductor/http/versions.ts';
import type { Caller } from '#conductor/kernel/caller.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { JsonPatch } from '#conductor/kernel/json-patch.ts';
import type { PageRequest } from '#conductor/kernel/page-of.ts';
import { getNode, isUuid } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** What connectors and targets have in common: below `/v1/volume`, and below a node. */
export interface VolumeResource<Row extends { readonly uuid: string }, Field extends string> {
  /** `connectors` */
  readonly key: string;
  /** `volume connector` */
  readonly what: string;
  readonly schema: z.ZodType;
  readonly fields: readonly Field[];
  readonly listed: readonly Field[];
  readonly view: (row: Row, fields?: readonly Field[]) => Record<string, unknown>;
  readonly list: (db: Queryable, nodeUuid: string | undefined, page: PageRequest, visibleTo?: string) => Promise<Row[]>;
  readonly get: (db: Queryable, uuid: string) => Promise<Row>;
  readonly change: (context: HttpContext, uuid: string, patch: JsonPatch, caller: Caller) => Promise<Row>;
  readonly remove: (context: HttpContext, uuid: string, caller: Caller) => Promise<void>;
}

export const volumeVersion = 32;
export const volumeTags = ['volumes'];

const VolumeParams = z.object({ volume: z.string() });
const ListQuery = z.strictObject({ ...plainListQuery, node: z.string().optional() });
const OfNodeQuery = z.strictObject(plainListQuery);
const FieldsQuery = z.strictObject({ fields: z.string().optional() });

export function answerVolume<Row extends { readonly uuid: string }, Field extends string>(
  c: Context<ApiEnv>,
  resource: VolumeResource<Row, Field>,
  row: Row,
  fields?: readonly Field[],
): Record<string, unknown> {
  return {
    ...resource.view(row, fields),
    links: linksTo(originOf(c), `volume/${resource.key}/${row.uuid}`),
  };
}

function routesOf(key: string, what: string, schema: z.ZodType) {
  const path = `/v1/volume/${key}`;
  const one = `${path}/{volume}`;
  return {
    list: createRoute({
      method: 'get',
      path,
      tags: volumeTags,
      summary: `List ${what}s`,
      request: { query: ListQuery },
      responses: answers(200, `${what}s, and the address of the next page when this one is full`, pageOf(key, schema)),
    }),
    listOfNode: createRoute({
      method: 'get',
      path: `/v1/nodes/{node}/volume/${key}`,
      tags: volumeTags,
      summary: `List the ${what}s of a node`,
      request: { params: NodeParams, query: OfNodeQuery },
      responses: answers(200, `${what}s`, pageOf(key, schema)),
    }),
    show: createRoute({
      method: 'get',
      path: one,
      tags: volumeTags,
      summary: `Show a ${what}`,
      request: { params: VolumeParams, query: FieldsQuery },
      responses: answers(200, `the ${what}`, schema),
    }),
    change: createRoute({
      method: 'patch',
      path: one,
      tags: volumeTags,
      summary: `Change a ${what} by JSON patch while its node is off`,
      request: { params: VolumeParams, body: jsonBody(JsonPatch) },
      responses: answers(200, `the whole ${what}`, schema),
    }),
    remove: createRoute({
      method: 'delete',
      path: one,
      tags: volumeTags,
      summary: `Delete a ${what} while its node is off`,
      request: { params: VolumeParams },
      responses: answers(204, 'gone'),
    }),
  };
}

/** All operations but creating. */
export function mountVolumeOperations<Row extends { readonly uuid: string }, Field extends string>(
  app: ApiApp,
  context: HttpContext,
  resource: VolumeResource<Row, Field>,
): void {
  const { key, what } = resource;
  const routes = routesOf(key, what, resource.schema);
  const fieldSet: FieldSet<Field> = { what, all: resource.fields, listed: resource.listed };
  const uuidOf = (text: string): string => {
    if (isUuid(text)) return text.toLowerCase();
    throw new AppError('invalid_argument', `Expected UUID for a ${what}: ${text}`);
  };
  const answerList = async (
    c: Context<ApiEnv>,
    query: z.infer<typeof OfNodeQuery>,
    place: { readonly path: string; readonly nodeUuid: string | undefined },
  ): Promise<Response> => {
    const fields = chooseListFields(query, fieldSet);
    const paging = parsePaging(query);
    if (paging.marker !== undefined) await resource.get(context.db, paging.marker);
    const rows = await resource.list(context.db, place.nodeUuid, paging, c.get('caller').project);
    return c.json({
      [key]: rows.map((row) => answerVolume(c, resource, row, fields)),
      ...nextPage(c, place.path, paging, rows),
    });
  };

  app.openapi(routes.list, async (c) => {
    requireEndpoint(c.get('version'), volumeVersion);
    const { node: ident, ...query } = c.req.valid('query');
    const node = ident === undefined ? undefined : await getNode(context.db, ident);
    return answerList(c, query, { path: `/v1/volume/${key}`, nodeUuid: node?.uuid });
  });
  app.openapi(routes.listOfNode, async (c) => {
    requireEndpoint(c.get('version'), volumeVersion);
    const { uuid: nodeUuid } = await getNode(context.db, c.req.valid('param').node);
    return answerList(c, c.req.valid('query'), { path: `/v1/nodes/${nodeUuid}/volume/${key}`, nodeUuid });
  });
  app.openapi(routes.show, async (c) => {
    requireEndpoint(c.get('version'), volumeVersion);
    const fields = chooseFields(c.req.valid('query').fields, fieldSet);
    return c.json(
      answerVolume(c, resource, await resource.get(context.db, uuidOf(c.req.valid('param').volume)), fields),
    );
  });
  app.openapi(routes.change, async (c) => {
    requireEndpoint(c.get('version'), volumeVersion);
    const uuid = uuidOf(c.req.valid('param').volume);
    return c.json(
      answerVolume(c, resource, await resource.change(context, uuid, c.req.valid('json'), c.get('caller'))),
    );
  });
  app.openapi(routes.remove, async (c) => {
    requireEndpoint(c.get('version'), volumeVersion);
    await resource.remove(context, uuidOf(c.req.valid('param').volume), c.get('caller'));
    return c.body(null, 204);
  });
}
