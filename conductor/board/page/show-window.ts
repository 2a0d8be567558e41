import { browser, element, paint } from '#conductor/board/page/page.ts';
import type { Html } from '#conductor/board/render/html.ts';

/** Number of rows up to which all are laid out; beyond, only those in view are. */
export const plainRows = 100;
/** Beyond the view on both sides, for the Tab key to go on. */
const spareRows = 20;
/** Every row is one line, and as high as any other. */
const size = { rowPixels: 27 };

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
export function showWindow(total: number, render: (first: number, end: number) => Html): void {
  const list = element('list');
  const past = Math.max(0, -list.getBoundingClientRect().top);
  const { first, end } = rowsInView(total, { past, height: browser.innerHeight, ...size });
  paint('rows', render(first, end));
  if (end > first) size.rowPixels = element('rows').getBoundingClientRect().height / (end - first) || size.rowPixels;
  list.style.paddingTop = `${first * size.rowPixels}px`;
  list.style.paddingBottom = `${(total - end) * size.rowPixels}px`;
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
