import { createHash } from 'node:crypto';
import { resealText } from '#conductor/kernel/secrets/sealed-document.ts';
import type { Secrets } from '#conductor/kernel/secrets/secrets.ts';
import type { JsonObject } from '#conductor/model/json-object.ts';
import {
  hasSecret,
  isEncrypted,
  passwordIn,
  type SiteDocument,
  siteDocument,
  withPassword,
} from '#conductor/sites/site.ts';
import type { AppError } from '#shared/errors/app-error.ts';

/** One collection's text and what it says. */
export interface Content {
  readonly text: string;
  readonly documents: readonly JsonObject[];
}

/** Content as it is stored: with an encrypted document the text is sealed, and each such document. */
export interface StoredContent extends Content {
  readonly hash: string;
}

const textPlace = (hash: string): string => `site text ${hash}`;
const dataPlace = (digest: string): string => `site document ${digest}`;

/**
 * Seals an upload for the store. The `data` of `storagePolicy: encrypted` (Deckhand) becomes its digest, which shows
 * whether it has changed and nothing more, as Deckhand answers it; so does a BMC's password. `sealed` beside it has the
 * data.
 */
export function sealContent(secrets: Secrets, { text, documents }: Content): StoredContent {
  if (!isSecretContent({ documents })) {
    return { hash: createHash('sha256').update(text).digest('hex'), text, documents };
  }
  const hash = secrets.digest(text);
  return {
    hash,
    text: secrets.seal(text, textPlace(hash)),
    documents: documents.map((document) => {
      const read = siteDocument('', document);
      if (!hasSecret(read)) return document;
      const { data, digest } = digested(secrets, read);
      return { ...document, data: withDigest(read, digest), sealed: secrets.seal(data, dataPlace(digest)) };
    }),
  };
}

function digested(secrets: Secrets, { data }: SiteDocument): { readonly data: string; readonly digest: string } {
  const text = JSON.stringify(data ?? null);
  return { data: text, digest: secrets.digest(text) };
}

function withDigest(document: SiteDocument, digest: string): unknown {
  return isEncrypted(document) ? digest : withPassword(document.data, digest);
}

/** A stored document as all may see it: of an earlier release one with secrets may not be sealed. */
export function shownDocument(secrets: Secrets, document: SiteDocument): SiteDocument {
  if (document.sealed !== undefined || !hasSecret(document)) return document;
  return { ...document, data: withDigest(document, digested(secrets, document).digest) };
}

/** Computes what stands in the place of a stored document's secrets. */
function digestOf(document: SiteDocument): string {
  return isEncrypted(document) ? String(document.data) : (passwordIn(document) ?? '');
}

/** Whether not all may see its text. */
export function isSecretContent({ documents }: Pick<Content, 'documents'>): boolean {
  return documents.some((document) => hasSecret(siteDocument('', document)));
}

function isSealedContent({ documents }: Pick<Content, 'documents'>): boolean {
  return documents.some((document) => storedDocument('', document).sealed !== undefined);
}

/** A stored document as a site's: the data of an encrypted one is its digest. */
export function storedDocument(collection: string, stored: JsonObject): SiteDocument {
  const document = siteDocument(collection, stored);
  const { sealed } = stored;
  return hasSecret(document) && typeof sealed === 'string' ? { ...document, sealed } : document;
}

/** @throws AppError `invalid_argument` naming the key that is missing */
export function openDocument(secrets: Secrets, { sealed, ...document }: SiteDocument): SiteDocument {
  if (sealed === undefined) return document;
  return { ...document, data: JSON.parse(secrets.open(sealed, dataPlace(digestOf(document)))) as unknown };
}

/** @throws AppError `invalid_argument` naming the key that is missing */
export function openText(secrets: Secrets, { hash, text, documents }: StoredContent): string {
  return isSealedContent({ documents }) ? secrets.open(text, textPlace(hash)) : text;
}

/** The same, sealed with the first key. @param onClosed called for what can't be opened, which stays */
export function resealContent(
  secrets: Secrets,
  { hash, text, documents }: StoredContent,
  onClosed: (error: AppError) => void,
): Content {
  if (!isSealedContent({ documents })) return { text, documents };
  return {
    text: resealText(secrets, text, textPlace(hash), onClosed),
    documents: documents.map((document) => {
      const { sealed, ...read } = storedDocument('', document);
      if (sealed === undefined) return document;
      return { ...document, sealed: resealText(secrets, sealed, dataPlace(digestOf(read)), onClosed) };
    }),
  };
}
