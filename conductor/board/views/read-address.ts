import { browser, decodeAddress, location } from '#conductor/board/page/page.ts';
import type { View } from '#conductor/board/page/show-view.ts';
import { type NodeTab, nodeTabs } from '#conductor/board/render/node/render-node.ts';
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

/** A node's page: its name or UUID, as the address has it, and the part that is open. */
export interface NamedNode {
  readonly name: string;
  readonly tab: NodeTab;
}

export function namedNode(): NamedNode | undefined {
  return parseNode(location.hash);
}

/** `#node/r01-n01/history`; a part that there is not is the first one. Pure. */
export function parseNode(hash: string): NamedNode | undefined {
  const [, name, tab = ''] = /^#node\/([^/]+)(?:\/(\w*))?$/.exec(hash) ?? [];
  if (name === undefined) return undefined;
  const isTab = (word: string): word is NodeTab => Object.hasOwn(nodeTabs, word);
  return { name: decodeAddress(name), tab: isTab(tab) ? tab : 'now' };
}

/** The view, and what stands behind it. */
export function namedView(): { readonly name: string; readonly view: View; readonly rest: string } | undefined {
  const [, name = '', rest = ''] = /^#(\w+)\/(.*)$/.exec(location.hash) ?? [];
  const view = Object.hasOwn(views, name) ? views[name] : undefined;
  return view && { name, view, rest };
}

/** `undefined` where it names none; `#fleet` is the whole fleet. */
export function namedFilter(): string | undefined {
  const filter = decodeAddress(location.hash.slice(1));
  if (filter === 'fleet') return '';
  return filter === '' || namedNode() !== undefined || namedView() ? undefined : filter;
}

/** Names the filter in the address, as a link would; what is typed is no step to go back to. */
export function nameFilter(filter: string): void {
  browser.history.replaceState(null, '', `#${encodeURIComponent(filter)}`);
}
