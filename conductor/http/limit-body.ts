import type { Context, Next } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { AccessRule } from '#conductor/auth/access-rules.ts';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import { applicationFault } from '#conductor/http/fault.ts';

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
/** By path of the rule; 1 MiB for everything else (ironic-api.md §1.2). A config drive comes in a provision request's body, a site's documents in one. */
const limits: ReadonlyMap<string, number> = new Map([
  ['/v1/nodes/{node}/states/provision', 64 * mebibyte],
  ['/v1/continue_inspection', 16 * mebibyte],
  ['/api/v1.0/configdocs/{collection}', 64 * mebibyte],
  ['/api/v1.0/plugins', 4 * mebibyte],
  ['/api/v1.0/revisions/{revision}/tags/{tag}', 16 * kibibyte],
]);
/** Heartbeats and reports are smaller, and are not held up by others. */
const smallBytes = 64 * kibibyte;
/** What strangers' larger bodies may take at once, all together. */
const strangersBytes = 128 * mebibyte;
const retryAfterSeconds = 5;

export type BodyLimit = (c: Context<ApiEnv>, rule: AccessRule | undefined, next: Next) => Promise<Response | void>;

/**
 * Answers 413 for a body that is too large, before it is read where its length is told. hono's own middleware reads only
 * what comes without a length: it looks at the body of every request, which costs more than all else on the way in.
 * It stands behind the login: what it reads is kept in memory.
 */
export const limitBody: BodyLimit = async (c, rule, next) => {
  if (!hasBody(c)) return next();
  const maxSize = limitOf(rule);
  const refuse = (): Response => applicationFault(c, 413, `The body is larger than ${maxSize} bytes.`);
  const told = lengthOf(c);
  if (told === undefined) return bodyLimit({ maxSize, onError: refuse })(c, next);
  return told > maxSize ? refuse() : next();
};

/** The same for who has not logged in, with an end to what all of them together may have read into memory at once. */
export function limitStrangersBodies(bytes: number = strangersBytes): BodyLimit {
  const state = { held: 0 };
  return async (c, rule, next) => {
    if (!hasBody(c)) return next();
    // at most the limit: what is announced above it is refused
    const size = Math.min(lengthOf(c) ?? Infinity, limitOf(rule));
    if (size <= smallBytes) return limitBody(c, rule, next);
    if (state.held + size > bytes) {
      c.header('Retry-After', String(retryAfterSeconds));
      return applicationFault(c, 503, 'Too many large bodies are being read; try again later.');
    }
    state.held += size;
    try {
      return await limitBody(c, rule, next);
    } finally {
      state.held -= size;
    }
  };
}

function hasBody({ req }: Context): boolean {
  return req.method !== 'GET' && req.method !== 'HEAD';
}

function limitOf(rule: AccessRule | undefined): number {
  return limits.get(rule?.path ?? '') ?? mebibyte;
}

/** As told in advance; `undefined` = it comes in chunks. */
function lengthOf({ req }: Context): number | undefined {
  const told = req.header('content-length');
  return told === undefined || req.header('transfer-encoding') !== undefined ? undefined : Number(told);
}
