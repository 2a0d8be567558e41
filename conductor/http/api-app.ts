import { OpenAPIHono } from '@hono/zod-openapi';
import { invalidRequest } from '#conductor/http/invalid-request.ts';
import type { Caller } from '#conductor/kernel/caller.ts';

export interface ApiEnv {
  Variables: {
    /** Minor of the microversion in use. */
    version: number;
    /** `https://baton.example`; absent = as the client reached it. */
    apiUrl: string | undefined;
    requestId: string;
    caller: Caller;
  };
}

export type ApiApp = OpenAPIHono<ApiEnv>;

/** First segments of the API's paths, which are served without `/v1` too ("bookmark" links, ironic-api.md §1.2). */
const apiSegments = new Set([
  'allocations',
  'chassis',
  'conductors',
  'continue_inspection',
  'deploy_templates',
  'drivers',
  'events',
  'heartbeat',
  'inspection_rules',
  'lookup',
  'nodes',
  'portgroups',
  'ports',
  'progress',
  'runbooks',
  'shards',
  'tokens',
  'volume',
]);

/** The path that routes match: `/v1` in front of API paths, no slash at the end. */
export function canonicalPath(pathname: string): string {
  const trimmed = pathname.length > 1 ? pathname.replace(/\/+$/, '') || '/' : pathname;
  const [, first] = trimmed.split('/');
  return first !== undefined && apiSegments.has(first) ? `/v1${trimmed}` : trimmed;
}

/** An empty app whose schemas answer in the API's error form. */
export function newApiApp(): ApiApp {
  return new OpenAPIHono<ApiEnv>({
    getPath: (request) => canonicalPath(new URL(request.url).pathname),
    defaultHook: (result) => {
      if (!result.success) throw invalidRequest(result.target, result.error);
    },
  });
}
