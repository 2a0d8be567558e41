import { createHash, timingSafeEqual } from 'node:crypto';
import type { MiddlewareHandler } from 'hono';
import { faultAnswer } from '#agent/http/fault-answer.ts';

/**
 * Lets through what carries the agent token as the query parameter `agent_token`. `token()` is `undefined` only where
 * the API is too old to have tokens: then all may pass.
 */
export function requireToken(token: () => string | undefined): MiddlewareHandler {
  return async (c, next) => {
    const expected = token();
    if (expected !== undefined && !equal(c.req.query('agent_token') ?? '', expected)) {
      return faultAnswer(c, 401, '401 Unauthorized: Token invalid.');
    }
    return next();
  };
}

/** In constant time; hashed first, so that the lengths are equal too. */
function equal(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
