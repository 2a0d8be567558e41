import { OpenAPIHono } from '@hono/zod-openapi';
import type { Context, MiddlewareHandler, TypedResponse, ValidationTargets } from 'hono';
import type { JSONParsed } from 'hono/utils/types';
import { type ZodError, z } from 'zod';
import { looseBoolean } from '#conductor/api/node-description.ts';
import type { Answer } from '#conductor/api/values.ts';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import { type BodyRowName, bodyRows } from '#conductor/http/routing/body-rows.ts';
import { requireEndpoint, requireMethod } from '#conductor/http/routing/versions.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { firstIssues } from '#shared/errors/describe-issues.ts';

export type ApiApp = OpenAPIHono<ApiEnv>;

/** First segments of the API's paths, which are served without `/v1` too ("bookmark" links, ironic-api.md §1.2). */
const apiSegments = new Set([
  'allocations',
  'attestations',
  'chassis',
  'conductors',
  'continue_inspection',
  'deploy_templates',
  'drivers',
  'events',
  'heartbeat',
  'inspection_rules',
  'lookup',
  'neighbours',
  'nodes',
  'portgroups',
  'ports',
  'progress',
  'runbooks',
  'session',
  'shards',
  'tokens',
  'volume',
]);

/** Returns the path that routes match: `/v1` in front of API paths, no slash at the end. */
export function canonicalPath(pathname: string): string {
  const trimmed = pathname.length > 1 ? pathname.replace(/\/+$/, '') || '/' : pathname;
  const [, first] = trimmed.split('/');
  return first !== undefined && apiSegments.has(first) ? `/v1${trimmed}` : trimmed;
}

/** Makes an empty app whose schemas answer in the API's error form. */
export function newApiApp(): ApiApp {
  return new OpenAPIHono<ApiEnv>({
    getPath: (request) => canonicalPath(new URL(request.url).pathname),
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(result.target, result.error);
    },
  });
}

type Issue = ZodError['issues'][number];

/**
 * Turns a request that its schema refuses into the answer that names each field and what would be right.
 * @returns AppError `invalid_argument` (400).
 */
function invalidRequest(target: keyof ValidationTargets, error: Pick<ZodError, 'issues'>): AppError {
  const faults = firstIssues(error.issues, (issue) => faultOf(target, issue));
  return new AppError('invalid_argument', faults.join('; '));
}

function faultOf(target: keyof ValidationTargets, issue: Issue): string {
  if (issue.code === 'unrecognized_keys')
    return `Unexpected arguments: ${issue.keys.map((key) => [...issue.path, key].join('.')).join(', ')}`;
  const where = issue.path.join('.');
  const missing = issue.code === 'invalid_type' && issue.message.includes('received undefined');
  if (missing && where !== '') return `Missing mandatory parameter: ${where}`;
  const place = where || (target === 'json' ? 'body' : target);
  return `Invalid ${target === 'json' ? 'body' : target}: ${place}: ${issue.message}`;
}

export interface Link {
  readonly href: string;
  readonly rel: string;
}

/** Gives the beginning of addresses in answers: the API's public URL where it is set, else what the client wrote. */
export function originOf(c: Context<ApiEnv>): string {
  return c.get('apiUrl') ?? new URL(c.req.url).origin;
}

/** Lists the origins that mean this service. */
export function originsOf(c: Context<ApiEnv>): string[] {
  return [originOf(c), new URL(c.req.url).origin];
}

/** Makes Ironic's pair of links: the versioned address and the one without `/v1`. */
export function linksTo(origin: string, path: string): Link[] {
  return [
    { href: `${origin}/v1/${path}`, rel: 'self' },
    { href: `${origin}/${path}`, rel: 'bookmark' },
  ];
}

/** `true`, `yes`, `1` … as Ironic takes them. */
export const queryFlag = looseBoolean.optional();

/** `fields=uuid,name`, or `fields=uuid&fields=name` as gophercloud 0.12 sends it. */
export const fieldsQuery = z.union([z.string(), z.array(z.string()).transform((names) => names.join(','))]).optional();

type Status = 200 | 201 | 202 | 204 | 400 | 503;

interface Described {
  readonly description: string;
}

/** An answer with a body: what its handler gives is held to the schema by the compiler. */
interface WithBody<Schema extends z.ZodType, Type extends string> extends Described {
  readonly content: { readonly [Name in Type]: { readonly schema: z.ZodType<Answer<Schema>> } };
}

/** An answer without a body; of errors that are thrown the description alone. */
export function answers<const Code extends Status>(
  status: Code,
  description: string,
): { readonly [Each in Code]: Described };
/** An answer whose schema is what clients rely on; tests hold every answer against it, too. */
export function answers<
  const Code extends Status,
  Schema extends z.ZodType,
  const Type extends string = 'application/json',
>(status: Code, description: string, schema: Schema, type?: Type): { readonly [Each in Code]: WithBody<Schema, Type> };
export function answers(status: Status, description: string, schema?: z.ZodType, type = 'application/json') {
  return { [status]: { description, ...(schema ? { content: { [type]: { schema } } } : {}) } };
}

/** Describes an answer that is not JSON: text, or a file. */
export function answersOther<const Type extends string>(status: 200, description: string, type: Type) {
  return answers(status, description, z.string(), type);
}

/** Answers that a handler gives. Where one has a body, those without are errors, which are thrown. */
type Given<Answered> = {
  [Code in keyof Answered as Answered[Code] extends { content: unknown }
    ? Code
    : Extract<Answered[keyof Answered], { content: unknown }> extends never
      ? Code
      : never]: Answered[Code];
};

/** Answers JSON that is written already, byte for byte: its writer, not the compiler, holds it to the schema. */
export function answerWritten<Schema extends z.ZodType>(
  c: Context<ApiEnv>,
  _schema: Schema,
  written: string,
  headers: Readonly<Record<string, string>> = {},
): Response & TypedResponse<JSONParsed<Answer<Schema>>, 200, 'json'> {
  const answer: Response = c.body(written, 200, { 'Content-Type': 'application/json', ...headers });
  return answer as Response & TypedResponse<JSONParsed<Answer<Schema>>, 200, 'json'>;
}

/** Describes a JSON body that must be there. */
function jsonBody<Schema extends z.ZodType>(schema: Schema) {
  return { content: { 'application/json': { schema } }, required: true as const };
}

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

interface Versions {
  /** The first microversion that has the endpoint: with an older one it is not there (404). */
  readonly since?: number | undefined;
  /** The first that has this method of its path: with an older one it is not allowed (405). */
  readonly methodSince?: number | undefined;
}

/** The row of limits that a definition names, which the API's description has as `{bytes, depth, values, seconds}`. */
export const bodyLimitsKey = 'x-body-limits';

/** The row that a definition with a body must name: one without is an error of types. */
type Limited<Body> = [Body] extends [undefined] ? { readonly limits?: never } : { readonly limits: BodyRowName };

interface Input<Params, Query, Body> extends Versions {
  /** Parameters of the path; default: text. */
  readonly params?: Params;
  readonly query?: Query;
  /** A JSON body that must be there; or any other. */
  readonly body?: Body;
  readonly description?: string;
}

interface BodyKind {
  readonly content: Record<string, { readonly schema: z.ZodType }>;
}

type DescribedRoute<Path extends string, Answered, Params, Query, Body> = {
  method: Method;
  path: Path;
  responses: Given<Answered>;
  request: {
    params: Params extends z.ZodObject ? Params : z.ZodObject<Record<NamesIn<Path>, z.ZodString>>;
  } & (Query extends z.ZodType ? { query: Query } : unknown) &
    (Body extends z.ZodType
      ? { body: ReturnType<typeof jsonBody<Body>> }
      : Body extends BodyKind
        ? { body: Body }
        : unknown);
};

/** Refuses requests of a version that does not have the endpoint, or not its method, before anything is read of them. */
export function onlySince({ since = 0, methodSince = 0 }: Versions): MiddlewareHandler<ApiEnv> {
  return async (c, next) => {
    requireEndpoint(c.get('version'), since);
    requireMethod(c.get('version'), methodSince);
    await next();
  };
}

/** Describes routes of one subject: `route.get(path, summary, answers, { query })`. */
export function routesOf(tag: string) {
  const by =
    (method: Method) =>
    <
      const Path extends string,
      Answered extends Readonly<Record<number, Described>>,
      Params extends z.ZodObject | undefined = undefined,
      Query extends z.ZodObject | undefined = undefined,
      Body extends z.ZodType | BodyKind | undefined = undefined,
    >(
      path: Path,
      summary: string,
      responses: Answered,
      ...[input]: [Body] extends [undefined]
        ? [input?: Input<Params, Query, Body> & Limited<Body>]
        : [input: Input<Params, Query, Body> & Limited<Body>]
    ) => {
      const {
        params,
        query,
        body,
        limits,
        since,
        methodSince,
        ...more
      }: Input<Params, Query, Body> & {
        readonly limits?: BodyRowName | undefined;
      } = input ?? {};
      const names = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => [name, z.string()] as const);
      const request = {
        ...(names.length > 0 ? { params: params ?? z.object(Object.fromEntries(names)) } : {}),
        ...(query ? { query } : {}),
        ...(body ? { body: body instanceof z.ZodType ? jsonBody(body) : body } : {}),
      };
      const isVersioned = since !== undefined || methodSince !== undefined;
      const middleware = isVersioned ? { middleware: [onlySince({ since, methodSince })] } : {};
      const rows = limits === undefined ? {} : { [bodyLimitsKey]: bodyRows[limits] };
      const route = { method, path, tags: [tag], summary, request, responses, ...rows, ...middleware, ...more };
      return route as unknown as DescribedRoute<Path, Answered, Params, Query, Body>;
    };
  return { get: by('get'), post: by('post'), put: by('put'), patch: by('patch'), delete: by('delete') };
}
