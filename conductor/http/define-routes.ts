import { createRoute } from '@hono/zod-openapi';
import { z } from 'zod';
import { looseBoolean } from '#conductor/api/node-description.ts';

/** `true`, `yes`, `1` … as Ironic takes them. */
export const queryFlag = looseBoolean.optional();

/** `fields=uuid,name`, or `fields=uuid&fields=name` as gophercloud 0.12 sends it. */
export const fieldsQuery = z.union([z.string(), z.array(z.string()).transform((names) => names.join(','))]).optional();

/**
 * A success answer: its schema is what clients rely on, and tests hold every answer against it; without one it has no body.
 */
export function answers(
  status: 200 | 201 | 202 | 204,
  description: string,
  schema?: z.ZodType,
  type = 'application/json',
): Record<number, { description: string }> {
  return { [status]: { description, ...(schema ? { content: { [type]: { schema } } } : {}) } };
}

/** An answer that is no JSON: text, or a file. */
export function answersOther(status: 200, description: string, type: string) {
  return answers(status, description, z.string(), type);
}

/** A JSON body that must be there. */
export function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { content: { 'application/json': { schema } }, required: true as const };
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

interface Input<Params, Query, Body> {
  /** Of the path; default: text. */
  readonly params?: Params;
  readonly query?: Query;
  /** A JSON body that must be there; or any other. */
  readonly body?: Body;
  readonly description?: string;
}

type Answers = Record<number, { description: string }>;

interface BodyKind {
  readonly content: Record<string, { readonly schema: z.ZodType }>;
}

type Described<Path extends string, Params, Query, Body> = {
  method: Method;
  path: Path;
  responses: Answers;
  request: {
    params: Params extends z.ZodObject ? Params : z.ZodObject<Record<NamesIn<Path>, z.ZodString>>;
  } & (Query extends z.ZodType ? { query: Query } : unknown) &
    (Body extends z.ZodType
      ? { body: ReturnType<typeof jsonBody<Body>> }
      : Body extends BodyKind
        ? { body: Body }
        : unknown);
};

/** Describes routes of one subject: `route.get(path, summary, answers, { query })`. */
export function routesOf(tag: string) {
  const by =
    (method: Method) =>
    <
      const Path extends string,
      Params extends z.ZodObject | undefined = undefined,
      Query extends z.ZodObject | undefined = undefined,
      Body extends z.ZodType | BodyKind | undefined = undefined,
    >(
      path: Path,
      summary: string,
      responses: Answers,
      { params, query, body, ...more }: Input<Params, Query, Body> = {},
    ) => {
      const names = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => [name, z.string()] as const);
      const request = {
        ...(names.length > 0 ? { params: params ?? z.object(Object.fromEntries(names)) } : {}),
        ...(query ? { query } : {}),
        ...(body ? { body: body instanceof z.ZodType ? jsonBody(body) : body } : {}),
      };
      const route = { method, path, tags: [tag], summary, request, responses, ...more };
      return createRoute(route as unknown as Described<Path, Params, Query, Body>);
    };
  return { get: by('get'), post: by('post'), put: by('put'), patch: by('patch'), delete: by('delete') };
}
