import { usageError } from '#conductor/cli/shell/usage-error.ts';

/**
 * Splits a table into rows of cells (RFC 4180; `;` or a tab between cells where the first row has no comma). Empty rows and
 * rows that begin with `#` are left out. Pure.
 * @throws AppError `invalid_argument` for quotes that don't close, or with something behind them
 */
export function parseCsv(text: string, file: string): string[][] {
  const content = text.replace(/^\uFEFF/, '');
  const first = content.split('\n').find((line) => line.trim() !== '' && !line.startsWith('#')) ?? '';
  const separator = [',', ';', '\t'].find((each) => first.includes(each)) ?? ',';
  const rows: string[][] = [];
  let row: string[] = [];
  let rest = content;
  let line = 1;
  const end = (): void => {
    if (row.some((cell) => cell.trim() !== '') && !row[0]?.startsWith('#')) rows.push(row);
    row = [];
  };
  while (rest !== '') {
    const quoted = /^"((?:[^"]|"")*)"/.exec(rest);
    if (rest.startsWith('"') && !quoted) throw usageError(`${file}: line ${line}: a quote is not closed`);
    const cell = quoted
      ? (quoted[1] ?? '').replaceAll('""', '"')
      : (/^[^\n]*?(?=[\n]|$)/.exec(rest)?.[0].split(separator)[0] ?? '');
    rest = rest.slice(quoted ? quoted[0].length : cell.length);
    line += (quoted?.[0].split('\n').length ?? 1) - 1;
    row.push(quoted ? cell : cell.replace(/\r$/, ''));
    rest = rest.replace(/^\r(?=\n|$)/, '');
    if (rest.startsWith(separator)) {
      rest = rest.slice(1);
      if (rest === '') row.push('');
    } else if (rest.startsWith('\n')) {
      rest = rest.slice(1);
      line += 1;
      end();
    } else if (rest !== '') {
      throw usageError(`${file}: line ${line}: something stands behind a closing quote`);
    }
  }
  end();
  return rows;
}
