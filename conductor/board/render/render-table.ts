/** A row: what is said of it by colour, and its cells as HTML. */
export interface TableRow {
  readonly status?: string;
  readonly cells: readonly string[];
}

/** On narrow screens a row is a card, and each cell says what it is. Pure. */
export function renderTable(columns: readonly string[], rows: readonly TableRow[]): string {
  const body = rows.map(({ status, cells }) => {
    const html = cells.map((cell, index) => `<td data-column="${columns[index] ?? ''}">${cell}</td>`);
    return `<tr${status === undefined ? '' : ` class="${status}"`}>${html.join('')}</tr>`;
  });
  return `<table class="cards"><thead><tr>${columns.map((column) => `<th>${column}</th>`).join('')}</tr></thead><tbody>${body.join('')}</tbody></table>`;
}

/** The first rows, and how many are not shown. Pure. */
export function renderSome<Item>(
  columns: readonly string[],
  items: readonly Item[],
  { most, row }: { readonly most: number; readonly row: (item: Item) => TableRow },
): string {
  const more = items.length - most;
  return `${renderTable(columns, items.slice(0, most).map(row))}${more > 0 ? `<p>and ${more} more</p>` : ''}`;
}
