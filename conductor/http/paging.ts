import type { Context } from 'hono';
import { z } from 'zod';
import type { ApiEnv } from '#conductor/http/api-app.ts';
import { originOf } from '#conductor/http/links.ts';
import { isUuid } from '#conductor/nodes/node-store.ts';
import { AppError } from '#shared/errors/app-error.ts';

const maximumLimit = 1000;

/** The query arguments of every list (ironic-api.md §1.4). */
export const pagingQuery = {
  limit: z.string().optional(),
  marker: z.string().optional(),
  sort_key: z.string().optional(),
  sort_dir: z.enum(['asc', 'desc'], { error: 'must be asc or desc' }).optional(),
};

export interface Paging {
  readonly limit: number;
  /** UUID of the last object of the page before. */
  readonly marker: string | undefined;
  readonly sortKey: string;
  readonly descending: boolean;
}

/** @throws AppError `invalid_argument`. */
export function parsePaging(query: {
  readonly limit?: string | undefined;
  readonly marker?: string | undefined;
  readonly sort_key?: string | undefined;
  readonly sort_dir?: 'asc' | 'desc' | undefined;
}): Paging {
  const limit = query.limit === undefined ? maximumLimit : Number(query.limit);
  if (!Number.isSafeInteger(limit)) throw new AppError('invalid_argument', `limit: '${query.limit}' is not an integer`);
  if (limit <= 0) throw new AppError('invalid_argument', 'Limit must be positive');
  if (query.marker !== undefined && !isUuid(query.marker)) {
    throw new AppError('invalid_argument', `Expected UUID for marker: ${query.marker}`);
  }
  return {
    limit: Math.min(limit, maximumLimit),
    marker: query.marker,
    sortKey: query.sort_key ?? 'id',
    descending: query.sort_dir === 'desc',
  };
}

/** The address of the next page when this one is full, repeating the query. */
export function nextPage(
  c: Context<ApiEnv>,
  path: string,
  paging: Paging,
  rows: readonly { uuid: string }[],
): { next?: string } {
  const last = rows.at(-1);
  if (!last || rows.length < paging.limit) return {};
  const url = new URL(`${originOf(c)}${path}`);
  url.search = new URL(c.req.url).search;
  url.searchParams.set('limit', String(paging.limit));
  url.searchParams.set('marker', last.uuid);
  // a comma list must stay one for the eye; both forms are legal
  return { next: url.toString().replaceAll('%2C', ',') };
}
