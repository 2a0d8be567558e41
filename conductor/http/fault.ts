import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import { answerStatus, isAirshipPath, type StatusParts } from '#conductor/http/status-object.ts';
import type { ErrorCode } from '#shared/errors/app-error.ts';

/** Ironic's error bodies: a JSON document as text inside a JSON document, which clients unpack twice (ironic-api.md §1.3). */
function answer(c: Context<ApiEnv>, status: ContentfulStatusCode, inner: Record<string, unknown>): Response {
  return c.json({ error_message: JSON.stringify(inner) }, status);
}

/**
 * An error of the application: the text is for the operator.
 * @param more what a Status object has beside it; Ironic's form has a place for the code alone, as a field of our own
 */
export function applicationFault(
  c: Context<ApiEnv>,
  status: ContentfulStatusCode,
  text: string,
  more: Pick<StatusParts, 'reason' | 'cause' | 'faults' | 'messages' | 'remark' | 'retry'> & {
    readonly code?: ErrorCode;
  } = {},
): Response {
  if (isAirshipPath(c.req.path)) return answerStatus(c, { ...more, status: 'Failure', code: status, message: text });
  const faultcode = status < 500 ? 'Client' : 'Server';
  return answer(c, status, {
    faultcode,
    faultstring: text,
    debuginfo: null,
    ...(more.code === 'node_locked' ? { error_code: more.code } : {}),
  });
}

const titles: Readonly<Partial<Record<ContentfulStatusCode, string>>> = {
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
};

/** An error that comes before any resource: no such path, no such version. */
export function frameworkFault(c: Context<ApiEnv>, status: 404 | 405 | 406, description: string): Response {
  if (isAirshipPath(c.req.path))
    return applicationFault(c, status, description || `${titles[status] ?? ''}: ${c.req.path}`);
  return answer(c, status, { code: status, title: titles[status], description });
}
