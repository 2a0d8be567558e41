import { decoded, location } from '#conductor/board/page/page.ts';
import type { View } from '#conductor/board/page/show-view.ts';
import { attentionView } from '#conductor/board/views/attention-view.ts';
import { allocationsView, conductorsView, imagesView, settingsView } from '#conductor/board/views/list-views.ts';
import { racksView } from '#conductor/board/views/racks-view.ts';
import { siteView } from '#conductor/board/views/site-view.ts';

/**
 * Reads the page's address: a node, a view beside the fleet, or else the fleet's filter, in which a slash is escaped.
 */

/** `#site/`. */
export const views: Readonly<Record<string, View>> = {
  attention: attentionView,
  racks: racksView,
  site: siteView,
  allocations: allocationsView,
  images: imagesView,
  conductors: conductorsView,
  settings: settingsView,
};

/** Its UUID. */
export function openNode(): string | undefined {
  return /^#node\/([0-9a-f-]{36})$/.exec(location.hash)?.[1];
}

/** The view, and what stands behind it. */
export function namedView(): { readonly name: string; readonly view: View; readonly rest: string } | undefined {
  const [, name = '', rest = ''] = /^#(\w+)\/(.*)$/.exec(location.hash) ?? [];
  const view = Object.hasOwn(views, name) ? views[name] : undefined;
  return view && { name, view, rest };
}

/** `undefined` where it names none. */
export function namedFilter(): string | undefined {
  const filter = decoded(location.hash.slice(1));
  return filter === '' || openNode() !== undefined || namedView() ? undefined : filter;
}

/** Names the filter in the address, as a link would. */
export function nameFilter(filter: string): void {
  location.hash = encodeURIComponent(filter);
}
