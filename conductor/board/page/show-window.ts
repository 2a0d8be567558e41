import { browser, element } from '#conductor/board/page/page.ts';
import { type Item, paintItems } from '#conductor/board/page/paint-items.ts';

/** Number of rows up to which all are laid out; beyond, only those in view are. */
export const plainRows = 100;
/** Beyond the view on both sides, for the Tab key to go on. */
const spareRows = 4;
/** Rows by which the part that is laid out moves, so that scrolling by one row costs nothing. */
const stepRows = 5;
/** Every row is one line, and as high as any other. */
const size = { rowPixels: 27, isMeasured: false };

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
  const steps = (rows: number): number => Math.ceil(rows / stepRows) * stepRows;
  const end = Math.min(total, steps((past + height) / rowPixels + spareRows));
  const top = Math.min(past / rowPixels, total) - spareRows;
  return { first: Math.max(0, steps(top - stepRows + 1)), end };
}

/** Finds the rows to lay out where the page is scrolled to now. */
export function windowOf(total: number): ReturnType<typeof rowsInView> {
  const past = Math.max(0, -element('list').getBoundingClientRect().top);
  return rowsInView(total, { past, height: browser.innerHeight, ...size });
}

/** Lays out those of the rows; the list is as long as all of them. */
export function showWindow(total: number, { first, end }: ReturnType<typeof rowsInView>, rows: readonly Item[]): void {
  paintItems('rows', rows);
  if (!size.isMeasured && end > first) {
    size.rowPixels = element('rows').getBoundingClientRect().height / (end - first) || size.rowPixels;
    size.isMeasured = true;
  }
  const list = element('list');
  list.style.paddingTop = `${first * size.rowPixels}px`;
  list.style.paddingBottom = `${(total - end) * size.rowPixels}px`;
}

/** Measures rows again: their size changes with the window's zoom. */
export function forgetSize(): void {
  size.isMeasured = false;
}

/** Scrolls so far that the row is laid out in the view's middle, if it is not in view. */
export function scrollToRow(index: number): void {
  const top = element('list').getBoundingClientRect().top + index * size.rowPixels;
  if (top < headPixels || top > browser.innerHeight - 2 * size.rowPixels) {
    browser.scrollBy(0, top - browser.innerHeight / 2);
  }
}

/** Pixels of the view that the headings cover. */
const headPixels = 60;
