import { readFault } from '#conductor/cli/read-fault.ts';
import { AppError } from '#shared/errors/app-error.ts';

export type Json = Record<string, unknown>;

export interface ApiClient {
  /** `undefined` for 404 on GET; `{}` for an empty answer. @throws AppError with the server's own words. */
  call(method: string, path: string, body?: unknown): Promise<Json | undefined>;
}

const microversion = '1.96';

/** Ironic's API at `url`, for the command line. */
export function createApiClient(url: string): ApiClient {
  return {
    call: async (method, path, body) => {
      const target = `${url.replace(/\/+$/, '')}${path}`;
      const answer = await fetch(target, {
        method,
        headers: { 'X-OpenStack-Ironic-API-Version': microversion, 'Content-Type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }).catch((cause: unknown) => {
        throw new AppError('unavailable', `reach the conductor at ${url} (BATON_URL)`, { cause });
      });
      const text = await answer.text();
      if (answer.ok) return text === '' ? {} : (JSON.parse(text) as Json);
      if (answer.status === 404 && method === 'GET') return undefined;
      throw new AppError(
        answer.status >= 500 ? 'unavailable' : 'invalid_argument',
        readFault(text) ?? `${answer.status}: ${text}`,
      );
    },
  };
}
