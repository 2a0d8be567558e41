import { browser, element, paint } from '#conductor/board/page/page.ts';
import type { BoardRow } from '#conductor/board/render/render-board.ts';
import { renderRows } from '#conductor/board/render/render-board.ts';

/** Up to here rows are as high as their text; beyond, each is one line and only those in view are laid out. */
export const plainRows = 300;
/** Beyond the view on both sides, for the Tab key to go on. */
const spareRows = 20;
const size = { rowPixels: 33 };

export interface View {
  /** Pixels of the list that are scrolled past. */
  readonly past: number;
  /** Pixels of the list that can be seen. */
  readonly height: number;
  readonly rowPixels: number;
}

/** Indexes of the rows to lay out: `first` up to, not with, `end`. Pure. */
export function rowsInView(total: number, { past, height, rowPixels }: View) {
  if (total <= plainRows) return { first: 0, end: total };
  const end = Math.min(total, Math.ceil((past + height) / rowPixels) + spareRows);
  return { first: Math.max(0, Math.min(Math.floor(past / rowPixels), end) - spareRows), end };
}

/** Lays out what can be seen of the rows; the list is as long as all of them. */
export function showWindow(rows: readonly BoardRow[]): void {
  const list = element('list');
  const past = Math.max(0, -list.getBoundingClientRect().top);
  const { first, end } = rowsInView(rows.length, { past, height: browser.innerHeight, ...size });
  const isWindow = rows.length > plainRows;
  list.className = isWindow ? 'windowed' : '';
  paint('rows', renderRows(rows.slice(first, end), new Date()));
  if (isWindow) size.rowPixels = element('rows').getBoundingClientRect().height / (end - first) || size.rowPixels;
  list.style.paddingTop = `${first * size.rowPixels}px`;
  list.style.paddingBottom = `${(rows.length - end) * size.rowPixels}px`;
}
