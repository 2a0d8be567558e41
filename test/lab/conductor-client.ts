import { type Dispatcher, request } from 'undici';
import { readFault } from '#conductor/cli/shell/render-status.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** The conductor's HTTP API as an operator uses it. */
export interface ConductorClient {
  /**
   * @returns the parsed JSON body, `undefined` when there is none.
   * @throws AppError `invalid_argument` (4xx) or `unavailable` (5xx) with the API's fault text.
   */
  call<T>(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<T>;
}

/** High enough for everything that the lab asks (traits, deploy steps, config drive as a dict). */
const microversion = '1.110';

/** @param url `http://10.100.0.1:6385` */
export function conductorClient(url: string, dispatcher: Dispatcher): ConductorClient {
  return {
    call: async <T>(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<T> => {
      const response = await request(`${url}${path}`, {
        method,
        dispatcher,
        headers: {
          accept: 'application/json',
          'x-openstack-ironic-api-version': microversion,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.body.text();
      if (response.statusCode >= 400) {
        const code = response.statusCode >= 500 ? 'unavailable' : 'invalid_argument';
        throw new AppError(
          code,
          `${method} ${path} was answered ${response.statusCode}: ${readFault(text).message ?? text}`,
          {
            details: { status: response.statusCode },
          },
        );
      }
      return (text === '' ? undefined : JSON.parse(text)) as T;
    },
  };
}
