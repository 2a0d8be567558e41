import { naturalKey } from '#conductor/board/render/fleet-columns.ts';
import type { BoardNode } from '#conductor/board/render/render-board.ts';
import { compareTexts } from '#shared/compare-texts.ts';

/** A place of the board that somebody may want to go to. */
export interface Place {
  readonly words: string;
  /** The kind of place, and what else there is to know. */
  readonly about: string;
  readonly href: string;
}

const shown = 12;

/** Finds places by a part of their words: what begins with it first, then in the words' order. Pure. */
export function findPlaces(
  text: string,
  { nodes, views }: { readonly nodes: Iterable<BoardNode>; readonly views: readonly Place[] },
): readonly Place[] {
  const wanted = text.trim().toLowerCase();
  const found: { readonly place: Place; readonly rank: number }[] = [];
  const add = (place: Place, ...names: readonly string[]): void => {
    const places = names.map((name) => name.toLowerCase().indexOf(wanted)).filter((at) => at !== -1);
    if (places.length > 0) found.push({ place, rank: Math.min(1, ...places) });
  };
  for (const view of views) add(view, view.words);
  if (wanted === '') return views;
  const racks = new Set<string>();
  for (const { uuid, name, rack, provision_state: state } of nodes) {
    const words = name ?? uuid;
    add({ words, about: state, href: `#node/${encodeURIComponent(words)}` }, words, uuid);
    if (rack !== null) racks.add(rack);
  }
  for (const rack of racks) add({ words: rack, about: 'rack', href: `#racks/${encodeURIComponent(rack)}` }, rack);
  return found
    .toSorted((a, b) => a.rank - b.rank || compareTexts(naturalKey(a.place.words), naturalKey(b.place.words)))
    .slice(0, shown)
    .map(({ place }) => place);
}
