import { isDeepStrictEqual } from 'node:util';
import type { CollectionRow } from '#conductor/api/sites.ts';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import {
  parseRole,
  parseVersion,
  type RevisionRole,
  revisionRoles,
  type SiteVersion,
} from '#conductor/model/site/revision-roles.ts';
import type { StoredContent } from '#conductor/sites/revisions/encrypted-documents.ts';
import {
  getRevision,
  type RevisionContent,
  readCollectionContent,
  readContent,
  readRoles,
} from '#conductor/sites/revisions/revision-store.ts';
import { documentKey, type SiteDocument } from '#conductor/sites/site.ts';
import { AppError } from '#shared/errors/app-error.ts';

type CollectionChange = 'unmodified' | 'modified' | 'created' | 'deleted';

/** Two of a site's versions. */
interface VersionPair {
  readonly base: SiteVersion;
  readonly diff: SiteVersion;
  /** Versions that the caller named, and that so have to be there. */
  readonly named: readonly SiteVersion[];
}

const choices = `must be one of ${revisionRoles.join(', ')}`;
const orNumber = `${choices}, or a revision's number`;

/**
 * Which two are meant: the seed's `base-version` and `diff-version`, or Shipyard's `versions=a,b`, which it puts in order.
 * Pure.
 * @throws AppError `invalid_argument` naming the parameter and what would be right.
 */
export function chooseVersions(query: {
  readonly versions?: string | undefined;
  readonly base?: string | undefined;
  readonly diff?: string | undefined;
}): VersionPair {
  if (query.versions !== undefined) {
    if (query.base !== undefined || query.diff !== undefined) {
      throw new AppError('invalid_argument', "versions can't be given together with base-version and diff-version");
    }
    const names = query.versions.split(',').map((name) => readRole(name.trim()));
    const [base, diff, ...more] = revisionRoles.filter((role) => names.includes(role));
    if (!base || !diff || more.length > 0 || names.length !== 2) {
      throw new AppError(
        'invalid_argument',
        `versions: it must be two different ones with a comma between; each ${choices}`,
      );
    }
    // Shipyard's client gives these two of itself where its operator has named none
    const isDefault = base === 'committed' && diff === 'buffer';
    return { base, diff, named: isDefault ? [] : [base, diff] };
  }
  const base = query.base === undefined ? 'committed' : readVersion('base-version', query.base);
  const diff = query.diff === undefined ? 'buffer' : readVersion('diff-version', query.diff);
  if (base === diff) {
    throw new AppError(
      'invalid_argument',
      `diff-version: it is ${diff}, as base-version is; ${orNumber}, and two different ones`,
    );
  }
  return {
    base,
    diff,
    named: [...(query.base === undefined ? [] : [base]), ...(query.diff === undefined ? [] : [diff])],
  };
}

/** @throws AppError `invalid_argument` naming the parameter and what would be right. */
export function readVersion(parameter: string, text: string): SiteVersion {
  const version = parseVersion(text);
  if (version === undefined) throw new AppError('invalid_argument', `${parameter}: '${text}' ${orNumber}`);
  return version;
}

/** Shipyard's `versions` knows roles alone. */
function readRole(text: string): RevisionRole {
  const role = parseRole(text);
  if (!role) throw new AppError('invalid_argument', `versions: '${text}' ${choices}`);
  return role;
}

/**
 * The revision of a version; of an empty buffer the committed one; 0 when there is none and nobody named it.
 * @throws AppError `not_found`.
 */
export async function resolveVersion(
  db: Queryable,
  {
    roles,
    version,
    isNamed,
  }: Readonly<{ roles: ReadonlyMap<RevisionRole, number>; version: SiteVersion; isNamed: boolean }>,
): Promise<number> {
  if (typeof version === 'number') return version === 0 ? 0 : (await getRevision(db, version)).id;
  const id = roles.get(version) ?? (version === 'buffer' ? roles.get('committed') : undefined);
  if (id === undefined && isNamed && version !== 'buffer') {
    throw new AppError('not_found', `There is no revision of version ${version} yet.`);
  }
  return id ?? 0;
}

/** Every collection that either has. @throws AppError `not_found`. */
export async function compareVersions(db: Queryable, { base, diff, named }: VersionPair): Promise<CollectionRow[]> {
  const roles = await readRoles(db);
  const baseId = await resolveVersion(db, { roles, version: base, isNamed: named.includes(base) });
  const diffId = await resolveVersion(db, { roles, version: diff, isNamed: named.includes(diff) });
  const before = await readContent(db, baseId);
  const after = await readContent(db, diffId);
  return [...compareCollections(before, after)].map(([collection, change]) => ({
    collection_name: collection,
    base_version: base,
    base_revision: baseId,
    base_status: before.has(collection) ? 'present' : 'not present',
    new_version: diff,
    new_revision: diffId,
    new_status: change,
  }));
}

/** By name of the collection. Pure. */
export function compareCollections(
  before: RevisionContent,
  after: RevisionContent,
): ReadonlyMap<string, CollectionChange> {
  const names = [...new Set([...before.keys(), ...after.keys()])].sort((a, b) => a.localeCompare(b));
  return new Map(names.map((name) => [name, changeOf(before.get(name), after.get(name))]));
}

function changeOf(before: string | undefined, after: string | undefined): CollectionChange {
  if (before === undefined) return 'created';
  if (after === undefined) return 'deleted';
  return before === after ? 'unmodified' : 'modified';
}

/**
 * A collection as it is stored.
 * @param version `buffer` = only what the buffer changes (airship.md §5); absent = the newest there is
 * @throws AppError `not_found`.
 */
export async function findCollection(
  db: Queryable,
  collection: string,
  version: SiteVersion | undefined,
): Promise<StoredContent> {
  const roles = await readRoles(db);
  const id = await resolveVersion(db, { roles, version: version ?? 'buffer', isNamed: version !== undefined });
  const content = await readCollectionContent(db, id, collection);
  const where = version === undefined ? '' : ` in version ${version}`;
  if (!content) throw new AppError('not_found', `Collection ${collection} could not be found${where}.`);
  if (version !== 'buffer') return content;
  const committed = await readContent(db, roles.get('committed') ?? 0);
  if ((await readContent(db, id)).get(collection) !== committed.get(collection)) return content;
  throw new AppError('not_found', `Collection ${collection} is not in the buffer: it is as it was committed.`);
}

interface DocumentName {
  readonly schema: string;
  readonly name: string;
  readonly collection: string;
}

/** A value that is not the same in both; `old` or `new` is absent where one has none. */
export interface ValueChange {
  /** `data.groups[2].critical`, as faults have it. */
  readonly path: string;
  readonly old?: unknown;
  readonly new?: unknown;
}

export interface DocumentChanges {
  readonly added: readonly DocumentName[];
  readonly removed: readonly DocumentName[];
  readonly changed: readonly (DocumentName & { readonly changes: readonly ValueChange[] })[];
}

/**
 * Lists the changes that make one set of documents another; each in its own order. Lists are compared place by place.
 * Pure.
 */
export function compareDocuments(before: readonly SiteDocument[], after: readonly SiteDocument[]): DocumentChanges {
  const old = byName(before);
  const young = byName(after);
  return {
    added: after.filter((document) => !old.has(documentKey(document))).map(nameOf),
    removed: before.filter((document) => !young.has(documentKey(document))).map(nameOf),
    changed: after.flatMap((document) => {
      const former = old.get(documentKey(document));
      const changes = former ? changesOf(former, document) : [];
      return changes.length > 0 ? [{ ...nameOf(document), changes }] : [];
    }),
  };
}

function changesOf(before: SiteDocument, after: SiteDocument): ValueChange[] {
  const parts = ['collection', 'metadata', 'data'] as const;
  return parts.flatMap((part) => compareValues(before[part], after[part], part));
}

function compareValues(before: unknown, after: unknown, path: string): ValueChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isContainer(before) || !isContainer(after) || Array.isArray(before) !== Array.isArray(after)) {
    return [{ path, ...(before === undefined ? {} : { old: before }), ...(after === undefined ? {} : { new: after }) }];
  }
  const isList = Array.isArray(before);
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) =>
    compareValues(ownValue(before, key), ownValue(after, key), isList ? `${path}[${key}]` : `${path}.${key}`),
  );
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function ownValue(container: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(container, key) ? container[key] : undefined;
}

const nameOf = ({ schema, name, collection }: SiteDocument): DocumentName => ({ schema, name, collection });

function byName(documents: readonly SiteDocument[]): ReadonlyMap<string, SiteDocument> {
  return new Map(documents.map((document) => [documentKey(document), document]));
}
