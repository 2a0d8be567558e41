import { stringify } from 'yaml';
import type { CommandContext, CommandInput } from '#conductor/cli/command.ts';
import { printable } from '#conductor/cli/screen.ts';

/** Prints a command's outcome: the document after `-o json` and `-o yaml`, else the text. */
export function print(
  { screen }: Pick<CommandContext, 'screen'>,
  input: Pick<CommandInput, 'document'>,
  outcome: { readonly json: unknown; readonly text: string },
): void {
  const { document } = input;
  if (document === undefined) screen.write(outcome.text);
  else
    screen.write(
      document === 'json'
        ? `${JSON.stringify(outcome.json, undefined, 2)}\n`
        : stringify(outcome.json, { compat: 'yaml-1.1' }),
    );
}

/** `-` for nothing, JSON for what is no text. */
export function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** Rows as columns of equal width, a line each, whatever is in them. */
export function table(given: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map(printable));
  const count = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, column) =>
    Math.max(0, ...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows
    .map(
      (row) =>
        `${row
          .map((text, column) => text.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** The same fields of each object, `-` for those that it lacks. @param titles of the columns; default: the fields' names */
export function columnsOf(
  objects: readonly Readonly<Record<string, unknown>>[],
  fields: readonly string[],
  titles: readonly string[] = fields,
): string {
  return table([titles, ...objects.map((object) => fields.map((field) => cell(object[field])))]);
}

/** A table whose last column stands below its row where a terminal is too narrow for both. */
export function tableFor(
  screen: Pick<CommandContext['screen'], 'isTerminal' | 'size'>,
  rows: readonly (readonly string[])[],
): string {
  const wide = table(rows);
  const { columns } = screen.size();
  if (!screen.isTerminal || wide.split('\n').every((line) => line.length <= columns)) return wide;
  const lines = table(rows.map((row) => row.slice(0, -1))).split('\n');
  return rows
    .map((row, index) => {
      const last = printable(row.at(-1) ?? '');
      return `${lines[index]}\n${last === '' || index === 0 ? '' : `    ${last}\n`}`;
    })
    .join('');
}

/** An object's fields, a line each. */
export function fieldTable(object: Readonly<Record<string, unknown>>): string {
  return table(Object.entries(object).map(([name, value]) => [name, cell(value)]));
}
