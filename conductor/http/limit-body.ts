import type { MiddlewareHandler } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import { applicationFault } from '#conductor/http/fault.ts';

const mebibyte = 1024 * 1024;
/** A config drive comes in the body of a provision request; everything else is small (ironic-api.md §1.2). */
const limits: readonly { readonly path: RegExp; readonly bytes: number }[] = [
  { path: /\/states\/provision\/?$/, bytes: 64 * mebibyte },
  { path: /\/continue_inspection\/?$/, bytes: 16 * mebibyte },
  { path: /^/, bytes: mebibyte },
];

/**
 * Answers 413 for a body that is too large, before it is read where its length is told. hono's own middleware reads only
 * what comes without a length: it looks at the body of every request, which costs more than all else on the way in.
 */
export const limitBody: MiddlewareHandler<ApiEnv> = (c, next) => {
  const { method, path } = c.req;
  if (method === 'GET' || method === 'HEAD') return next();
  const maxSize = limits.find((limit) => limit.path.test(path))?.bytes ?? 0;
  const refuse = (): Response => applicationFault(c, 413, `The body is larger than ${maxSize} bytes.`);
  const told = c.req.header('content-length');
  if (told === undefined || c.req.header('transfer-encoding') !== undefined) {
    return bodyLimit({ maxSize, onError: refuse })(c, next);
  }
  return Number(told) > maxSize ? Promise.resolve(refuse()) : next();
};
