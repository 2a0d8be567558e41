import { isDeepStrictEqual } from 'node:util';
import { documentKey, type SiteDocument } from '#conductor/sites/site-document.ts';

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

/** What makes one set of documents another; each in its own order. Lists are compared place by place. Pure. */
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
