import { listIn, objectIn, textIn } from '#conductor/cli/import/fleet.ts';
import type { Json } from '#conductor/cli/shell/api-client.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** Ironic's API, which is only read. */
export interface IronicClient {
  /**
   * Reads a collection, page after page; none where this Ironic has no such collection, unless each has it.
   * @throws AppError `command_failed` also where it changed meanwhile, so that a page is missing
   */
  list(path: string, key: string, options?: { readonly isRequired?: boolean }): Promise<readonly Json[]>;
}

const pageSize = 1000;
const newestMinor = 96;
const lookMs = 60_000;

/**
 * Connects to an Ironic, at the newest microversion that it and this program know.
 * @param authorization headers that prove who asks; empty for an API without authentication
 * @throws AppError `invalid_argument` for no URL, `unavailable`, `command_failed` with what the server says
 */
export async function connectIronic(
  address: string,
  authorization: Readonly<Record<string, string>>,
): Promise<IronicClient> {
  const url = URL.parse(address);
  if (!url || !/^https?:$/.test(url.protocol)) throw usageError(`URL: it must be like http://192.0.2.5:6385`);
  const base = url.href.replace(/\/+$/, '').replace(/\/v1$/, '');
  const get = async (path: string, minor: number): Promise<unknown> => {
    const headers = { ...authorization, 'X-OpenStack-Ironic-API-Version': `1.${minor}`, Accept: 'application/json' };
    const what = `read ${base}${path.replace(/\?.*/, '')}`;
    // nobody else gets the token
    const request = { headers, redirect: 'manual', signal: AbortSignal.timeout(lookMs) } as const;
    const answer = await fetch(`${base}${path}`, request).catch((cause: unknown) => {
      throw new AppError('unavailable', what, { cause });
    });
    if (answer.status >= 300 && answer.status < 400) {
      const place = answer.headers.get('location') ?? 'nowhere';
      throw new AppError('command_failed', `${what}: it redirects to ${place}: give that as URL, if it is Ironic's`);
    }
    const text = await answer.text();
    if (answer.status === 404 || answer.status === 406) return undefined;
    if (!answer.ok)
      throw new AppError('command_failed', `${what}: it answered ${answer.status}: ${text.slice(0, 300)}`);
    try {
      return JSON.parse(text) as unknown;
    } catch (cause) {
      throw new AppError('command_failed', `${what}: it is no JSON: is it Ironic's API?`, { cause });
    }
  };
  const newest = textIn(await get('/v1', 1), 'version', 'version');
  const minor = Math.min(Number(/^1\.(\d+)$/.exec(newest ?? '')?.[1] ?? Number.NaN), newestMinor);
  if (Number.isNaN(minor)) throw new AppError('command_failed', `${base}/v1 names no version: is it Ironic's API?`);
  return {
    list: async (path, key, { isRequired = false } = {}) => {
      const all: Json[] = [];
      for (;;) {
        const marker = textIn(all.at(-1), 'uuid');
        const query = `limit=${pageSize}${marker === undefined ? '' : `&marker=${marker}`}`;
        const answer = await get(`${path}${path.includes('?') ? '&' : '?'}${query}`, minor);
        if (answer === undefined && marker !== undefined) {
          const words = `read ${base}${path}: the list changed meanwhile (${marker} is gone): repeat the command`;
          throw new AppError('command_failed', words);
        }
        if (answer === undefined && !isRequired) return all;
        if (!Array.isArray(objectIn(answer)[key])) {
          throw new AppError('command_failed', `read ${base}${path}: it has no ${key}: is it Ironic's API?`);
        }
        const page = listIn(answer, key).map((item) => objectIn(item));
        all.push(...page);
        // a page may be shorter than asked for by the server's own limit
        if (page.length === 0 || textIn(answer, 'next') === undefined) return all;
      }
    },
  };
}
