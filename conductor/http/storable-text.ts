import type { Context } from 'hono';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** In JSON text: U+0000, or a surrogate, which is half a character unless the other half stands beside it. */
const suspect = /\\u(0000|d[89a-f])/i;

/**
 * Refuses text that PostgreSQL can't store, in a request's address or JSON body, before anything is done with it.
 * @throws AppError `invalid_argument` naming the field.
 */
export async function requireStorableText(c: Context<ApiEnv>): Promise<void> {
  if (/%00/.test(c.req.url)) throw new AppError('invalid_argument', 'The address contains the character U+0000.');
  if (!['GET', 'HEAD'].includes(c.req.method) && c.req.header('content-type')?.includes('json')) {
    const text = await c.req.text();
    const fault = suspect.test(text) ? unstorableField(parse(text), []) : undefined;
    if (fault !== undefined) throw new AppError('invalid_argument', fault);
  }
}

/** `undefined` for text that is no JSON: the route's own schema says so. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function unstorableField(value: unknown, path: readonly string[]): string | undefined {
  if (typeof value === 'string') return refusal(value, path.join('.') || 'body');
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const fault = refusal(key, `a key of ${path.join('.') || 'body'}`) ?? unstorableField(item, [...path, key]);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function refusal(text: string, where: string): string | undefined {
  if (text.includes('\0')) return `${where}: the character U+0000 can't be stored`;
  return text.isWellFormed() ? undefined : `${where}: a lone surrogate is not text and can't be stored`;
}
