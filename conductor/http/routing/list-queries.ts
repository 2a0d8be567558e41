import type { Context } from 'hono';
import { z } from 'zod';
import type { ApiEnv } from '#conductor/http/routing/api-env.ts';
import { fieldsQuery, originOf, queryFlag } from '#conductor/http/routing/define-routes.ts';
import { requireVersion } from '#conductor/http/routing/versions.ts';
import { type JsonPatch, patchRoots } from '#conductor/kernel/json-patch.ts';
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

/** Returns the address of the next page when this one is full, repeating the query. */
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

/** Query of a list whose objects have one set of fields at every microversion. */
export const plainListQuery = { ...pagingQuery, fields: fieldsQuery, detail: queryFlag };

/** A resource's fields: all of them, and those of a list when nothing is asked for. */
export interface FieldSet<Field extends string> {
  /** `deploy template` */
  readonly what: string;
  readonly all: readonly Field[];
  readonly listed: readonly Field[];
}

/** @throws AppError `invalid_argument` naming a field that does not exist, or for `fields` beside `detail`. */
export function chooseListFields<Field extends string>(
  query: { readonly fields?: string | undefined; readonly detail?: boolean | undefined },
  set: FieldSet<Field>,
): readonly Field[] {
  if (query.detail && query.fields !== undefined) {
    throw new AppError('invalid_argument', 'Can not specify ?detail=True and fields in the same request.');
  }
  if (query.detail) return set.all;
  return query.fields === undefined ? set.listed : chooseFields(query.fields, set);
}

/**
 * Chooses the fields of `?fields=a,b`; all when absent.
 * @throws AppError `invalid_argument` naming one that does not exist.
 */
export function chooseFields<Field extends string>(text: string | undefined, set: FieldSet<Field>): readonly Field[] {
  if (text === undefined) return set.all;
  const wanted = text.split(',').map((name) => name.trim());
  const isField = (name: string): name is Field => set.all.some((field) => field === name);
  const unknown = wanted.find((name) => !isField(name) && name !== 'links');
  if (unknown !== undefined)
    throw new AppError('invalid_argument', `fields: ${withArticle(set.what)} has no field '${unknown}'`);
  return wanted.filter(isField);
}

function withArticle(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`;
}

/** A resource whose fields came with different microversions. */
export interface VersionedFieldSet<Field extends string> extends FieldSet<Field> {
  readonly versions: Readonly<Record<Field, number>>;
  /** Since when lists take `detail`. */
  readonly detailSince?: number;
}

const fieldsVersion = 8;
const detailVersion = 43;

/**
 * Chooses the fields of a list's objects, as far as the version in use has them.
 * @throws AppError `invalid_argument` as `chooseListFields`, `not_acceptable` for a field or an argument that the
 * version in use does not have.
 */
export function chooseListFieldsAt<Field extends string>(
  query: { readonly fields?: string | undefined; readonly detail?: boolean | undefined },
  set: VersionedFieldSet<Field>,
  version: number,
): readonly Field[] {
  if (query.detail !== undefined) requireVersion(version, set.detailSince ?? detailVersion, "query argument 'detail'");
  if (query.fields === undefined) return chooseListFields(query, set);
  const fields = chooseListFields(query, set);
  return requireFieldsAt(fields, set, version);
}

/** The same for one object: all its fields when none are asked for. */
export function chooseFieldsAt<Field extends string>(
  text: string | undefined,
  set: VersionedFieldSet<Field>,
  version: number,
): readonly Field[] {
  return text === undefined ? set.all : requireFieldsAt(chooseFields(text, set), set, version);
}

/** @throws AppError `not_acceptable` for a field that the version in use does not have. */
export function requireFields(
  names: readonly string[],
  versions: Readonly<Record<string, number>>,
  version: number,
): void {
  for (const name of names) {
    if (Object.hasOwn(versions, name)) requireVersion(version, versions[name] ?? 0, `field '${name}'`);
  }
}

const escapesVersion = 98;

/**
 * Refuses parts of a patch that the version in use does not have.
 * @throws AppError `invalid_argument` for an escape in a path before 1.98, as for any path of another form;
 * `not_acceptable` for a field that the version does not have.
 */
export function requirePatch(patch: JsonPatch, versions: Readonly<Record<string, number>>, version: number): void {
  const place = version < escapesVersion ? patch.findIndex(({ path }) => path.includes('~')) : -1;
  if (place !== -1) {
    throw new AppError(
      'invalid_argument',
      `Invalid body: ${place}.path: does not match '^(/[\\w-]+)+$'; ~0 and ~1 need API version 1.${escapesVersion}, ` +
        `the request uses 1.${version}`,
    );
  }
  requireFields(patchRoots(patch), versions, version);
}

function requireFieldsAt<Field extends string>(
  fields: readonly Field[],
  set: VersionedFieldSet<Field>,
  version: number,
): readonly Field[] {
  requireVersion(version, fieldsVersion, "query argument 'fields'");
  requireFields(fields, set.versions, version);
  return fields;
}
