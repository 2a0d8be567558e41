import { OpenAPIHono } from '@hono/zod-openapi';
import type { ValidationTargets } from 'hono';
import type { ZodError } from 'zod';
import type { Caller } from '#conductor/kernel/caller.ts';
import { AppError } from '#shared/errors/app-error.ts';

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

type Issue = ZodError['issues'][number];

/**
 * A request that its schema refuses, as the answer that names each field and what would be right.
 * @returns AppError `invalid_argument` (400).
 */
function invalidRequest(target: keyof ValidationTargets, error: Pick<ZodError, 'issues'>): AppError {
  const faults = error.issues.map((issue) => faultOf(target, issue));
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
