import { document, element } from '#conductor/board/page/page.ts';
import { type PatchNode, patchNode } from '#conductor/board/page/patch-html.ts';
import type { Html } from '#conductor/board/render/html.ts';

/** An item of a long list that is painted piece by piece: one element, whose HTML has that id. */
export interface Item {
  readonly id: string;
  readonly html: () => Html;
}

/** An element that has items. */
interface ItemList extends PatchNode {
  insertBefore(child: PatchNode, before: PatchNode | null): unknown;
}

interface Painted {
  html: string;
  readonly shown: PatchNode;
}

const lists = new Map<string, { readonly list: ItemList; readonly painted: Map<string, Painted> }>();

/**
 * Puts items into the element, and touches only those that differ from what is there; one that is elsewhere in the list
 * now is moved.
 * @param isOver asked before each item that has to be made; from then on items stay as they were, and new ones away
 * @returns whether all items are as they should be
 */
export function paintItems(id: string, items: readonly Item[], isOver: () => boolean = () => false): boolean {
  const list = element(id) as unknown as ItemList;
  const known = lists.get(id);
  const painted = known?.list === list ? known.painted : new Map<string, Painted>();
  lists.set(id, { list, painted });
  const focused = document.activeElement?.id;
  const wanted = new Set(items.map((item) => item.id));
  for (const [key, { shown }] of painted) {
    if (wanted.has(key)) continue;
    list.removeChild(shown);
    painted.delete(key);
  }
  let isWhole = true;
  let place = list.firstChild;
  for (const item of items) {
    isWhole = isWhole && !isOver();
    const shown = isWhole ? makeItem(item, painted) : painted.get(item.id)?.shown;
    if (!shown) continue;
    if (shown === place) place = place.nextSibling;
    else list.insertBefore(shown, place);
  }
  if (focused && document.activeElement?.id !== focused)
    document.getElementById(focused)?.focus({ preventScroll: true });
  return isWhole;
}

function makeItem({ id, html }: Item, painted: Map<string, Painted>): PatchNode {
  const text = String(html());
  const former = painted.get(id);
  if (former?.html === text) return former.shown;
  const template = document.createElement('template');
  template.innerHTML = text;
  const made = template.content.firstChild;
  if (!made) throw new Error(`the item ${id} has no element`);
  if (former) {
    patchNode(former.shown, made);
    former.html = text;
    return former.shown;
  }
  painted.set(id, { html: text, shown: made });
  return made;
}
