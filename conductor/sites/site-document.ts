import type { JsonObject } from '#conductor/model/json-object.ts';
import type { SiteFault } from '#conductor/model/site-fault.ts';

export interface SiteDocument {
  /** Of its upload. */
  readonly collection: string;
  /** `drydock/BaremetalNode/v1` */
  readonly schema: string;
  /** `metadata.name`; alone within its schema. */
  readonly name: string;
  readonly metadata: JsonObject;
  /** `undefined` where the document has none. */
  readonly data: unknown;
  /** Of an encrypted document as it is stored: its data, sealed; `data` is its digest then. */
  readonly sealed?: string;
}

/**
 * An uploaded document (`parseDocuments` has checked it) as a site's.
 * What is neither text nor mapping where it should be becomes empty, so that `readSite` can name the fault.
 */
export function siteDocument(collection: string, document: JsonObject): SiteDocument {
  const metadata = isMapping(document['metadata']) ? document['metadata'] : {};
  const { name } = metadata;
  const { schema } = document;
  return {
    collection,
    schema: typeof schema === 'string' ? schema : '',
    name: typeof name === 'string' ? name : '',
    metadata,
    data: document['data'],
  };
}

/** Deckhand's way to say that nobody may see its data. */
export function isEncrypted({ metadata }: Pick<SiteDocument, 'metadata'>): boolean {
  return metadata['storagePolicy'] === 'encrypted';
}

export function isMapping(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What tells documents of a revision apart, as Deckhand does: a replacement has the name of what it replaces. */
export function documentKey({ schema, name, metadata }: Pick<SiteDocument, 'schema' | 'name' | 'metadata'>): string {
  const layering = metadata['layeringDefinition'];
  return JSON.stringify([schema, (isMapping(layering) ? layering['layer'] : undefined) ?? null, name]);
}

export function documentOf(document: SiteDocument): NonNullable<SiteFault['document']> {
  return { schema: document.schema, name: document.name, collection: document.collection };
}
