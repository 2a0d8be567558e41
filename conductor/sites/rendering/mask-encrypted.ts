import { stringsOf } from '#conductor/kernel/secrets/sealed-document.ts';
import { type RenderedDocuments, renderLayers } from '#conductor/sites/rendering/render-layers.ts';
import {
  documentKey,
  hasSecret,
  isEncrypted,
  isMapping,
  passwordIn,
  type SiteDocument,
  withPassword,
} from '#conductor/sites/site.ts';
import { mask } from '#shared/secret-words.ts';

/**
 * Documents rendered, and the same as all may see them: `******` in place of every value of an encrypted document, and of
 * what has come of it in others. Rendered twice, with the values and without: nothing has to be followed through layers
 * and substitutions. Pure.
 */
export interface RenderedSite extends RenderedDocuments {
  /** In the same order. */
  readonly shown: readonly SiteDocument[];
}

export function renderSite(documents: readonly SiteDocument[]): RenderedSite {
  const rendered = renderLayers(documents);
  if (!documents.some(hasSecret)) return { ...rendered, shown: rendered.documents };
  const withoutValues = documents.map((each) => {
    if (isEncrypted(each)) return { ...each, data: maskValues(each.data) };
    return hasSecret(each) ? { ...each, data: withPassword(each.data, mask) } : each;
  });
  const masked = new Map(renderLayers(withoutValues).documents.map((each) => [documentKey(each), each]));
  const shown = rendered.documents.map((document) => {
    // a pattern that only the value has: nobody can say which parts are secret
    const found = isEncrypted(document) ? undefined : masked.get(documentKey(document));
    return found ?? { ...document, data: mask };
  });
  return { ...rendered, shown };
}

/** The same mappings and lists with `******` for each value. Pure. */
function maskValues(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (Array.isArray(value)) return value.map(maskValues);
  if (!isMapping(value)) return mask;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, maskValues(each)]));
}

/** All values of encrypted documents, so that other texts can be kept free of them. Pure. */
export function encryptedTexts(documents: readonly SiteDocument[]): string[] {
  return documents.flatMap((each) => (isEncrypted(each) ? stringsOf(each.data) : (passwordIn(each) ?? [])));
}

/** Where a document has values that are not to be shown: `oob.credential`. Pure. */
export function maskedPaths(data: unknown, shown: unknown, path = ''): string[] {
  if (Object.is(data, shown)) return [];
  if (typeof data !== 'object' || data === null || typeof shown !== 'object' || shown === null) return [path];
  const before = data as Readonly<Record<string, unknown>>;
  const after = shown as Readonly<Record<string, unknown>>;
  return Object.keys(before).flatMap((key) =>
    maskedPaths(before[key], after[key], path === '' ? key : `${path}.${key}`),
  );
}
