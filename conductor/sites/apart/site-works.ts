import { readSite } from '#conductor/sites/documents/read-site.ts';
import { renderSite } from '#conductor/sites/rendering/mask-encrypted.ts';
import { renderLayers } from '#conductor/sites/rendering/render-layers.ts';
import type { ErrorCode } from '#shared/errors/app-error.ts';

/** Works on all documents of a site, with the regular expressions and schemas that people wrote in them. */
export const siteWorks = { readSite, renderSite, renderLayers } as const;

export type SiteWorks = typeof siteWorks;

export interface SiteOrder {
  readonly work: keyof SiteWorks;
  readonly given: readonly unknown[];
}

export type SiteAnswer =
  | { readonly made: unknown }
  | { readonly error: { readonly code: ErrorCode; readonly text: string } };

/** Does what is asked for; both sides know the types by the name of the work. */
export function doSiteWork({ work, given }: SiteOrder): unknown {
  return (siteWorks[work] as (...given: readonly unknown[]) => unknown)(...given);
}
