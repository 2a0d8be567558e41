import { randomUUID } from 'node:crypto';
import { createRoute } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { z } from 'zod';
import { Chassis } from '#conductor/api/resources.ts';
import { pageOf } from '#conductor/api/values.ts';
import { type ApiApp, type ApiEnv, newApiApp } from '#conductor/http/api-app.ts';
import type { HttpContext } from '#conductor/http/context.ts';
import {
  chooseFieldsAt,
  chooseListFieldsAt,
  plainListQuery,
  type VersionedFieldSet,
} from '#conductor/http/field-choice.ts';
import { linksTo, originOf } from '#conductor/http/links.ts';
import { nextPage, parsePaging } from '#conductor/http/paging.ts';
import { answers, jsonBody } from '#conductor/http/query-values.ts';
import type { ChassisRow } from '#conductor/kernel/db/schema/chassis.ts';
import { JsonPatch } from '#conductor/kernel/json-patch.ts';
import { changeChassis, removeChassis } from '#conductor/nodes/chassis/change-chassis.ts';
import {
  ChassisDescription,
  type ChassisField,
  chassisFields,
  chassisFieldVersions,
  defaultChassisListFields,
  viewChassis,
} from '#conductor/nodes/chassis/chassis-fields.ts';
import { getChassis, insertChassis, listChassis } from '#conductor/nodes/chassis/chassis-store.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const tags = ['chassis'];
const path = '/v1/chassis';
const ChassisParams = z.object({ chassis: z.string() });
const ListQuery = z.strictObject(plainListQuery);

const fieldSet: VersionedFieldSet<ChassisField> = {
  what: 'chassis',
  all: chassisFields,
  listed: defaultChassisListFields,
  versions: chassisFieldVersions,
};

const list = createRoute({
  method: 'get',
  path,
  tags,
  summary: 'List chassis',
  request: { query: ListQuery },
  responses: answers(
    200,
    'chassis, and the address of the next page when this one is full',
    pageOf('chassis', Chassis),
  ),
});

const listDetail = createRoute({
  ...list,
  path: `${path}/detail`,
  summary: 'List chassis with all fields',
  request: { query: ListQuery.omit({ fields: true, detail: true }) },
});

const create = createRoute({
  method: 'post',
  path,
  tags,
  summary: 'Describe a chassis',
  request: { body: jsonBody(ChassisDescription.extend({ uuid: z.guid({ error: 'must be a UUID' }).nullish() })) },
  responses: answers(201, 'the chassis', Chassis),
});

const show = createRoute({
  method: 'get',
  path: `${path}/{chassis}`,
  tags,
  summary: 'Show a chassis',
  request: { params: ChassisParams, query: z.strictObject({ fields: z.string().optional() }) },
  responses: answers(200, 'the chassis', Chassis),
});

const change = createRoute({
  method: 'patch',
  path: `${path}/{chassis}`,
  tags,
  summary: 'Change a chassis by JSON patch',
  request: { params: ChassisParams, body: jsonBody(JsonPatch) },
  responses: answers(200, 'the whole chassis', Chassis),
});

const remove = createRoute({
  method: 'delete',
  path: `${path}/{chassis}`,
  tags,
  summary: 'Delete a chassis without nodes',
  request: { params: ChassisParams },
  responses: answers(204, 'gone'),
});

function requireChassisUuid(uuid: string): string {
  if (!isUuid(uuid)) throw new AppError('invalid_argument', `Expected UUID for chassis_uuid: ${uuid}`);
  return uuid.toLowerCase();
}

/** `/v1/chassis`; their nodes are in `nodes.routes.ts`. */
export function chassisRoutes({ db }: Pick<HttpContext, 'db'>): ApiApp {
  const app = newApiApp();

  const answer = (c: Context<ApiEnv>, row: ChassisRow, fields: readonly ChassisField[] = chassisFields) => {
    const origin = originOf(c);
    return {
      ...viewChassis(row, fields),
      links: linksTo(origin, `chassis/${row.uuid}`),
      ...(fields === chassisFields ? { nodes: linksTo(origin, `chassis/${row.uuid}/nodes`) } : {}),
    };
  };

  const answerList = async (
    c: Context<ApiEnv>,
    query: z.infer<typeof ListQuery>,
    place: { readonly path: string; readonly fields: readonly ChassisField[] },
  ): Promise<Response> => {
    const paging = parsePaging(query);
    if (paging.marker !== undefined) await getChassis(db, paging.marker);
    const rows = await listChassis(db, paging);
    return c.json({
      chassis: rows.map((row) => answer(c, row, place.fields)),
      ...nextPage(c, place.path, paging, rows),
    });
  };

  app.openapi(list, (c) => {
    const query = c.req.valid('query');
    return answerList(c, query, { path, fields: chooseListFieldsAt(query, fieldSet, c.get('version')) });
  });

  app.openapi(listDetail, (c) =>
    answerList(c, c.req.valid('query'), { path: `${path}/detail`, fields: chassisFields }),
  );

  app.openapi(create, async (c) => {
    const { uuid, ...description } = c.req.valid('json');
    const row = await insertChassis(db, uuid?.toLowerCase() ?? randomUUID(), description);
    c.header('Location', `${originOf(c)}${path}/${row.uuid}`);
    return c.json(answer(c, row), 201);
  });

  app.openapi(show, async (c) => {
    const fields = chooseFieldsAt(c.req.valid('query').fields, fieldSet, c.get('version'));
    return c.json(answer(c, await getChassis(db, requireChassisUuid(c.req.valid('param').chassis)), fields));
  });

  app.openapi(change, async (c) => {
    const uuid = requireChassisUuid(c.req.valid('param').chassis);
    return c.json(answer(c, await changeChassis(db, uuid, c.req.valid('json'))));
  });

  app.openapi(remove, async (c) => {
    await removeChassis(db, requireChassisUuid(c.req.valid('param').chassis));
    return c.body(null, 204);
  });

  return app;
}
