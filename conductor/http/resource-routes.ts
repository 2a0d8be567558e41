import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { pageOf } from '#conductor/api/values.ts';
import { answers, fieldsQuery, jsonBody, queryFlag } from '#conductor/http/define-routes.ts';
import { pagingQuery } from '#conductor/http/paging.ts';
import { JsonPatch } from '#conductor/kernel/json-patch.ts';
import type { Resource, ResourceRow } from '#conductor/nodes/resources/resource.ts';

/** Where a resource is in the API, and what of its routes is its own. */
export interface ResourcePlace<Row extends ResourceRow> {
  readonly resource: Resource<Row>;
  /** `/v1/ports` */
  readonly path: string;
  /** The key of lists: `ports`. */
  readonly key: string;
  /** Of one in paths: `port`. */
  readonly param: string;
  /** `port groups` */
  readonly plural: string;
  readonly tag: string;
  readonly answer: z.ZodType;
  readonly body: z.ZodObject;
  readonly summaries: { readonly create: string; readonly change: string; readonly remove: string };
  /** The word of messages for a UUID that is none, `port_uuid`; absent where names will do. */
  readonly uuidWord?: string;
  /** Before its microversion what writes is no method of the paths (405), as Ironic has it for its newer resources. */
  readonly hasNewMethods?: true;
  /** All fields are listed at `/detail`, too. */
  readonly hasDetail?: true;
  /** Query arguments of the list beside those of every list, with the microversion since which. */
  readonly filters?: Readonly<Record<string, number>>;
  /** Fields that are written and not shown, with the microversion since which. */
  readonly alsoWritten?: Readonly<Record<string, number>>;
  /** Links to what is below it, since a microversion, where all fields are shown. */
  readonly below?: { readonly key: string; readonly since: number };
  /** Lists of those that belong to a node or something else. */
  readonly lists?: readonly ListBelow[];
}

/** A list of what belongs to one object: `/v1/nodes/{node}/ports`. */
export interface ListBelow {
  /** `nodes` */
  readonly parents: string;
  /** Of the parent in the path: `node`. */
  readonly param: string;
  /** What comes behind the parent: `volume/targets`. */
  readonly path: string;
  readonly summary: string;
  readonly since: number;
  /** The column that holds the parent's UUID. */
  readonly column: 'nodeUuid' | 'portgroupUuid';
  /** With all fields at `/detail`, too. */
  readonly hasDetail?: true;
}

const listQuery = { ...pagingQuery, fields: fieldsQuery, detail: queryFlag };
/** Of the lists below another object. */
export const PlainQuery = z.strictObject(listQuery);
export type PlainQuery = z.infer<typeof PlainQuery>;

/** The queries' form is the same for all resources, but for their filters: `filters` of the place names them. */
export type ListQuery = PlainQuery & Readonly<Record<string, unknown>>;

export function describeRoutes<Row extends ResourceRow>(place: ResourcePlace<Row>) {
  const { path, key, param, plural, answer, summaries, resource } = place;
  const { what } = resource;
  const tags = [place.tag];
  const one = `${path}/{${param}}`;
  const params = z.object({ [param]: z.string() });
  const filters = Object.fromEntries(Object.keys(place.filters ?? {}).map((name) => [name, z.string().optional()]));
  const Query = z.strictObject({ ...listQuery, ...filters });
  const page = pageOf(key, answer);
  const full = `${plural}, and the address of the next page when this one is full`;
  const list = createRoute({
    method: 'get',
    path,
    tags,
    summary: `List ${plural}`,
    request: { query: Query },
    responses: answers(200, full, page),
  });
  return {
    list,
    listDetail: createRoute({
      ...list,
      path: `${path}/detail`,
      summary: `List ${plural} with all fields`,
      request: { query: Query.omit({ fields: true, detail: true }) },
    }),
    below: (place.lists ?? []).map((below) => ({ ...below, ...describeBelow(place, below, page) })),
    create: createRoute({
      method: 'post',
      path,
      tags,
      summary: summaries.create,
      request: { body: jsonBody(place.body) },
      responses: answers(201, `the ${what}`, answer),
    }),
    show: createRoute({
      method: 'get',
      path: one,
      tags,
      summary: `Show a ${what}`,
      request: { params, query: z.strictObject({ fields: z.string().optional() }) },
      responses: answers(200, `the ${what}`, answer),
    }),
    change: createRoute({
      method: 'patch',
      path: one,
      tags,
      summary: summaries.change,
      request: { params, body: jsonBody(JsonPatch) },
      responses: answers(200, `the whole ${what}`, answer),
    }),
    remove: createRoute({
      method: 'delete',
      path: one,
      tags,
      summary: summaries.remove,
      request: { params },
      responses: answers(204, 'gone'),
    }),
  };
}

function describeBelow(
  { tag, plural }: Pick<ResourcePlace<ResourceRow>, 'tag' | 'plural'>,
  { parents, param, path, summary }: ListBelow,
  page: z.ZodType,
) {
  const params = z.object({ [param]: z.string() });
  const route = createRoute({
    method: 'get',
    path: `/v1/${parents}/{${param}}/${path}`,
    tags: [tag],
    summary,
    request: { params, query: PlainQuery },
    responses: answers(200, plural, page),
  });
  const detail = createRoute({
    ...route,
    path: `/v1/${parents}/{${param}}/${path}/detail`,
    summary: `${summary}, with all fields`,
    request: { params, query: PlainQuery.omit({ fields: true, detail: true }) },
  });
  return { route, detail };
}
