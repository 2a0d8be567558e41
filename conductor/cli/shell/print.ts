import { stringify } from 'yaml';
import { printable, type Screen } from '#conductor/cli/shell/screen.ts';
import type { Remark } from '#conductor/model/remarks/remark.ts';
import { type Dialect, describeRemark } from '#conductor/model/remarks/remark-words.ts';

export const documentFormats = ['json', 'yaml'] as const;
export type DocumentFormat = (typeof documentFormats)[number];

/** Prints a command's outcome: the document after `-o json` and `-o yaml`, else the text. */
export function print(
  { screen }: { readonly screen: Screen },
  input: { readonly document: DocumentFormat | undefined },
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

/** `-` for nothing, JSON for what is not text. */
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
export function tableFor(screen: Pick<Screen, 'isTerminal' | 'size'>, rows: readonly (readonly string[])[]): string {
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

/** Writes the API's advice as it is typed; faults have a line each below. */
const cliDialect: Dialect = {
  bufferMode: (mode) => `--mode ${mode}`,
  intermediateCommits: '--allow-intermediate-commits',
  diffSinceAction: 'baton site diff --base-version last-site-action --diff-version committed',
  removeCollection: '`baton site remove` takes the collection away',
  faults: () => '',
};

/** Pure. */
export function describeForCli(remark: Remark): string {
  return describeRemark(remark, cliDialect);
}

/** Gives what helps next, by a refusal's reason; nothing where its message says so. Pure. */
export function adviceOn({
  reason,
  remark,
}: {
  readonly reason: string;
  readonly remark?: Remark | undefined;
}): string[] {
  const id = remark?.arguments['id'];
  if (remark?.code === 'action-under-way' && typeof id === 'string') {
    return [`→ baton action watch ${id}; baton action stop ${id}`];
  }
  if (reason === 'NoCommittedConfigdocs') return ['→ baton site upload COLLECTION FILE, then baton site commit'];
  if (reason === 'BufferNotEmpty') return ['→ baton site diff shows the buffer, baton site commit commits it'];
  return [];
}
