import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { AgentFault } from '#agent/commands/agent-fault.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import type { Log } from '#shared/log.ts';

/**
 * Every error body is flat and has a `faultstring`: Ironic's conductor searches in it for every status from 400 on
 * and crashes on null (agent-protocol.md §4).
 */
export function faultAnswer(c: Context, status: ContentfulStatusCode, faultstring: string): Response {
  return c.json({ faultcode: status < 500 ? 'Client' : 'Server', faultstring }, status);
}

/** The edge: what a route threw becomes an answer. */
export function answerError(error: Error, c: Context, log: Log): Response {
  if (error instanceof AgentFault) return faultAnswer(c, error.code, error.message);
  log.error({ err: error, path: c.req.path }, 'request failed');
  return faultAnswer(c, 500, errorChain(error));
}

export function notFound(c: Context): Response {
  return faultAnswer(
    c,
    404,
    '404 Not Found: The requested URL was not found on the server. If you entered the URL manually please check ' +
      'your spelling and try again.',
  );
}

/** For a known path with a method that it doesn't have. */
export function methodNotAllowed(allowed: string): (c: Context) => Response {
  return (c) => {
    c.header('Allow', allowed);
    return faultAnswer(c, 405, '405 Method Not Allowed: The method is not allowed for the requested URL.');
  };
}
