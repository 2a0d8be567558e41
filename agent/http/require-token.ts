import type { MiddlewareHandler } from 'hono';
import { faultAnswer } from '#agent/http/fault-answer.ts';
import { isSameSecret } from '#shared/is-same-secret.ts';

/**
 * Lets through what carries the agent token as the query parameter `agent_token`. `token()` is `undefined` only where
 * the API is too old to have tokens: then all may pass.
 */
export function requireToken(token: () => string | undefined): MiddlewareHandler {
  return async (c, next) => {
    const expected = token();
    if (expected !== undefined && !isSameSecret(c.req.query('agent_token') ?? '', expected)) {
      return faultAnswer(c, 401, '401 Unauthorized: Token invalid.');
    }
    return next();
  };
}
