import { z } from 'zod';
import { pageOf } from '#conductor/api/values.ts';
import type { DocumentKeys } from '#conductor/http/resources/document-keys.ts';
import { answers, fieldsQuery, queryFlag, routesOf } from '#conductor/http/routing/define-routes.ts';
import { pagingQuery } from '#conductor/http/routing/list-queries.ts';
import { JsonPatch } from '#conductor/kernel/json-patch.ts';
import type { Resource, ResourceRow } from '#conductor/nodes/resources/resource.ts';

/** Where a resource is in the API, and what of its routes is its own. */
export interface ResourcePlace<Row extends ResourceRow> {
  readonly resource: Resource<Row>;
  /** `/v1/ports` */
  readonly path: string;
  /** The key of lists: `ports`. */
  readonly key: string;
  /** Parameter for one in paths: `port`. */
  readonly param: string;
  /** `port groups` */
  readonly plural: string;
  /** Default: `plural`. */
  readonly tag?: string;
  readonly answer: z.ZodType;
  readonly body: z.ZodObject;
  readonly summaries: { readonly create: string; readonly change: string; readonly remove: string };
  /** The word of messages for a UUID that is none, `port_uuid`; absent where names will do. */
  readonly uuidWord?: string;
  /** Before its microversion what writes is not a method of the paths (405), as Ironic has it for its newer resources. */
  readonly hasNewMethods?: true;
  /** All fields are listed at `/detail`, too. */
  readonly hasDetail?: true;
  /** Query arguments of the list beside those of every list, with the microversion since which. */
  readonly filters?: Readonly<Record<string, number>>;
  /** Fields that are written and not shown, with the microversion since which. */
  readonly alsoWritten?: Readonly<Record<string, number>>;
  /**
   * Returns values that a version adds to a description.
   * @throws AppError for a value that only newer versions take.
   */
  readonly completes?: (description: Readonly<Record<string, unknown>>, version: number) => Record<string, unknown>;
  /** Keys of its documents that only some versions have. */
  readonly documentKeys?: DocumentKeys;
  /** Links to what is below it, since a microversion, where all fields are shown. */
  readonly below?: { readonly key: string; readonly since: number };
  /** Lists of those that belong to a node or something else. */
  readonly lists?: readonly ListBelow[];
}

/** A list of what belongs to one object: `/v1/nodes/{node}/ports`. */
export interface ListBelow {
  /** `nodes` */
  readonly parents: string;
  /** Parameter for the parent in the path: `node`. */
  readonly param: string;
  /** Path behind the parent: `volume/targets`. */
  readonly path: string;
  readonly summary: string;
  readonly since: number;
  /** The column that holds the parent's UUID. */
  readonly column: 'nodeUuid' | 'portgroupUuid';
  /** With all fields at `/detail`, too. */
  readonly hasDetail?: true;
}

const listQuery = { ...pagingQuery, fields: fieldsQuery, detail: queryFlag };
/** Query of the lists below another object. */
const PlainQuery = z.strictObject(listQuery);
type PlainQuery = z.infer<typeof PlainQuery>;

/** The queries' form is the same for all resources, but for their filters: `filters` of the place names them. */
export type ListQuery = PlainQuery & Readonly<Record<string, unknown>>;

/** Makes the query of lists that have all fields: there is nothing to choose. */
function withoutChoice(query: typeof PlainQuery) {
  return query.omit({ fields: true, detail: true });
}

export function describeRoutes<Row extends ResourceRow>(place: ResourcePlace<Row>) {
  const { path, key, param, plural, answer, body, summaries, resource, tag = plural } = place;
  const { what, since } = resource;
  const writing = place.hasNewMethods ? { methodSince: since } : { since };
  const route = routesOf(tag);
  const one = `${path}/{${param}}`;
  const params = z.object({ [param]: z.string() });
  const filters = Object.fromEntries(Object.keys(place.filters ?? {}).map((name) => [name, z.string().optional()]));
  const query = z.strictObject({ ...listQuery, ...filters });
  const page = pageOf(key, answer);
  const full = answers(200, `${plural}, and the address of the next page when this one is full`, page);
  return {
    list: route.get(path, `List ${plural}`, full, { since, query }),
    listDetail: route.get(`${path}/detail`, `List ${plural} with all fields`, full, {
      since,
      query: withoutChoice(query),
    }),
    below: (place.lists ?? []).map((below) => ({ ...below, ...describeBelow(place, below, page) })),
    create: route.post(path, summaries.create, answers(201, `the ${what}`, answer), {
      ...writing,
      limits: 'usual',
      body,
    }),
    show: route.get(one, `Show a ${what}`, answers(200, `the ${what}`, answer), {
      since,
      params,
      query: z.strictObject({ fields: z.string().optional() }),
    }),
    change: route.patch(one, summaries.change, answers(200, `the whole ${what}`, answer), {
      ...writing,
      params,
      limits: 'usual',
      body: JsonPatch,
    }),
    remove: route.delete(one, summaries.remove, answers(204, 'gone'), { ...writing, params }),
  };
}

function describeBelow(
  { plural, tag = plural }: Pick<ResourcePlace<ResourceRow>, 'tag' | 'plural'>,
  { parents, param, path, summary, since }: ListBelow,
  page: z.ZodType,
) {
  const params = z.object({ [param]: z.string() });
  const route = routesOf(tag);
  const list = `/v1/${parents}/{${param}}/${path}`;
  return {
    route: route.get(list, summary, answers(200, plural, page), { since, params, query: PlainQuery }),
    detail: route.get(`${list}/detail`, `${summary}, with all fields`, answers(200, plural, page), {
      since,
      params,
      query: withoutChoice(PlainQuery),
    }),
  };
}
