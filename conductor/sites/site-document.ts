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
  /** Of a document with secrets as it is stored: its data, sealed; `data`, or the password in it, is a digest then. */
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

/** Deckhand's whose `data` is a secret. Published sites have them in clear. */
const secretSchemas = /^deckhand\/(Passphrase|PrivateKey|CertificateKey|CertificateAuthorityKey)\/v1$/;

/** Nobody may see its data: Deckhand's way to say it, and what is a secret whatever it says. */
export function isEncrypted({ schema, metadata }: Pick<SiteDocument, 'schema' | 'metadata'>): boolean {
  return metadata['storagePolicy'] === 'encrypted' || secretSchemas.test(schema);
}

/** A BMC's password in a node's document, or a profile, as Drydock has it: beside its account. */
export function passwordIn({ schema, data }: Pick<SiteDocument, 'schema' | 'data'>): string | undefined {
  if (!/^drydock\/(BaremetalNode|HostProfile)\/v1$/.test(schema) || !isMapping(data) || !isMapping(data['oob']))
    return undefined;
  const { account, credential } = data['oob'];
  const isGiven = typeof account === 'string' && account !== '!' && typeof credential === 'string';
  return isGiven && credential !== '' && credential !== '!' ? credential : undefined;
}

/** Whether it is stored sealed, and shown without what it says. */
export function hasSecret(document: Pick<SiteDocument, 'schema' | 'metadata' | 'data'>): boolean {
  return isEncrypted(document) || passwordIn(document) !== undefined;
}

/** The same data with something else in its place. Pure. */
export function withPassword(data: unknown, credential: unknown): unknown {
  if (!isMapping(data) || !isMapping(data['oob'])) return data;
  return { ...data, oob: { ...data['oob'], credential } };
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
