import { type Html, type HtmlValue, html } from '#conductor/board/render/html.ts';

/** A row: what is said of it by colour, and its cells. */
export interface TableRow {
  readonly status?: string;
  readonly cells: readonly HtmlValue[];
}

/** On narrow screens a row is a card, and each cell says what it is; a column `>Size` has its cells at the right. Pure. */
export function renderTable(columns: readonly string[], rows: readonly TableRow[]): Html {
  const titles = columns.map((column) => column.replace(/^>/, ''));
  const classes = columns.map((column) => (column.startsWith('>') ? html` class="number"` : undefined));
  const body = rows.map(({ status, cells }) => {
    const all = cells.map(
      (cell, index) => html`<td data-column="${titles[index] ?? ''}"${classes[index]}>${cell}</td>`,
    );
    return html`<tr${status !== undefined && html` class="${status}"`}>${all}</tr>`;
  });
  // a heading of nothing is none
  const head = titles.map((title, index) =>
    title === '' ? html`<td></td>` : html`<th scope="col"${classes[index]}>${title}</th>`,
  );
  return html`<table class="cards"><thead><tr>${head}</tr></thead><tbody>${body}</tbody></table>`;
}

/** The first rows, and how many are not shown. Pure. */
export function renderSome<Item>(
  columns: readonly string[],
  items: readonly Item[],
  { most, row }: { readonly most: number; readonly row: (item: Item) => TableRow },
): Html {
  const more = items.length - most;
  return html`${renderTable(columns, items.slice(0, most).map(row))}${more > 0 && html`<p>and ${more} more</p>`}`;
}
