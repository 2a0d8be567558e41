import { browser } from '#conductor/board/page/page.ts';
import { type FleetSort } from '#conductor/board/render/fleet/arrange-fleet.ts';
import { columnNames, type FleetColumnName, usualColumns } from '#conductor/board/render/fleet-columns.ts';

/** The columns that somebody has chosen, and their order; the browser keeps them, and nothing else. */
export interface Look {
  columns: readonly FleetColumnName[];
  sort: FleetSort;
}

const key = 'baton.fleet';

/** Reads what was chosen in this browser; what it can't understand is as if nothing was. */
export function readLook(): Look {
  return parseLook(readKept() ?? '{}');
}

/** Pure. @param text JSON, which another release, or somebody else, may have written */
export function parseLook(text: string): Look {
  const { columns, sort, isDown } = parsed(text);
  const isColumn = (name: unknown): name is FleetColumnName => columnNames.some((each) => each === name);
  const known = Array.isArray(columns) ? columnNames.filter((name) => columns.includes(name)) : [];
  return {
    columns: known.includes('node') ? known : usualColumns,
    sort: { column: isColumn(sort) ? sort : 'node', isDown: isDown === true },
  };
}

export function writeLook({ columns, sort }: Look): void {
  try {
    browser.localStorage.setItem(key, JSON.stringify({ columns, sort: sort.column, isDown: sort.isDown }));
  } catch {
    // a browser that keeps nothing shows it all the same
  }
}

function readKept(): string | null {
  try {
    return browser.localStorage.getItem(key);
  } catch {
    return null;
  }
}

function parsed(text: string): { readonly columns?: unknown; readonly sort?: unknown; readonly isDown?: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}
