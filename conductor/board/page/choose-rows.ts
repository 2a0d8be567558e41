import { type BoardRow, uuidOf } from '#conductor/board/render/render-board.ts';

/** Nodes that somebody has chosen, by UUID; what a filter hides stays chosen, and is not acted on. */
export interface ChosenRows {
  readonly uuids: ReadonlySet<string>;
  /** The chosen ones among these. */
  among(rows: readonly BoardRow[]): readonly BoardRow[];
  /** Chooses one, or no longer. @param isRange all between it and the last one alike, as the rows stand */
  toggle(uuid: string, rows: readonly BoardRow[], isRange: boolean): void;
  clear(): void;
}

/** The rows that an action would be on, and the words for it. */
export interface MeantRows {
  readonly rows: readonly BoardRow[];
  /** Text of the button. */
  readonly label: string;
  /** Title of the question; empty where there is nothing to act on. */
  readonly title: string;
}

/**
 * Finds the rows that an action would be on: while any are chosen, only those, though none of them be shown any more: what
 * is shown instead was not meant. Pure.
 */
export function meantRows({ uuids, among }: Pick<ChosenRows, 'uuids' | 'among'>, rows: readonly BoardRow[]): MeantRows {
  if (uuids.size === 0) return { rows, label: 'Act on the nodes shown…', title: 'Act on the nodes shown' };
  const some = among(rows);
  if (some.length === 0) return { rows: some, label: `0 of ${uuids.size} chosen are shown`, title: '' };
  const count = some.length === uuids.size ? `${some.length}` : `${some.length} of ${uuids.size}`;
  return { rows: some, label: `Act on ${count} chosen…`, title: `Act on ${count} chosen` };
}

export function createChosenRows(): ChosenRows {
  const uuids = new Set<string>();
  let last: string | undefined;
  return {
    uuids,
    among: (rows) => (uuids.size === 0 ? [] : rows.filter((row) => uuids.has(uuidOf(row)))),
    toggle: (uuid, rows, isRange) => {
      const isChosen = !uuids.has(uuid);
      const place = rows.findIndex((row) => uuidOf(row) === uuid);
      const former = isRange ? rows.findIndex((row) => uuidOf(row) === last) : -1;
      const from = former === -1 ? place : Math.min(place, former);
      for (const row of rows.slice(Math.max(0, from), Math.max(place, former) + 1)) {
        if (isChosen) uuids.add(uuidOf(row));
        else uuids.delete(uuidOf(row));
      }
      last = uuid;
    },
    clear: () => {
      uuids.clear();
      last = undefined;
    },
  };
}
